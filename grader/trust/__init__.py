"""Signs receipts and checks signatures; a stranger can check them with no network.

It decides no grade and renders nothing. What other parts of the program use:

* `keys.generate(place) -> SSlibKey`, `keys.load_private(path) -> CryptoSigner`,
  `keys.load_public(path) -> SSlibKey`; both have a `keyid`, the SHA-256 of the public key.
* `seal.seal(forms, signer) -> forms`: the forms of one receipt (ending -> text, `json` among them)
  as they are to be written: the page with its data blocks, and with a signer `dsse.json` as well.
  An undecided receipt is never signed; `seal.may_sign(forms["json"])` says so beforehand.
* `shelf.check(shelf.place(path), keys) -> Verified` for one receipt on disk in any of its forms,
  `verify.forms({ending: bytes}, keys) -> Verified` for one in memory, `shelf.below(folder)` for
  the receipts of a folder. They raise `refused.Refused`, which has `reason` and `where`.
* `statement.of(receipt_json, digests)`, `envelope.sign`, `envelope.read`, `page.split` and
  `strict.loads` are the parts of these.

Everything that needs the optional libraries raises EnvironmentProblem without them, naming the
extra to install.
"""
