//! Targets, records, transitions and audit on a SQL database.
