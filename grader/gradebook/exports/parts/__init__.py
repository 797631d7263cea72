"""What several formats share: their records, cells of a sheet, finding a learner, archives."""
