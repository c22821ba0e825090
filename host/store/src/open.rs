//! How the database is opened, of whichever kind it is.

use crate::conn::{Conn, Readers};
use crate::location::Place;
use crate::{Options, StoreError, postgres, sqlite};

/// The one connection that writes, with the schema in place and the database found whole.
pub(crate) async fn writer(options: &Options) -> Result<Conn, StoreError> {
    match &options.location.0 {
        Place::File(path) => sqlite::writer(options, path).await,
        Place::Server(server) => postgres::writer(options, server).await,
    }
}

/// Another connection that writes, after the first was lost.
pub(crate) async fn again(options: &Options) -> Result<Conn, StoreError> {
    match &options.location.0 {
        Place::File(path) => sqlite::writer(options, path).await,
        Place::Server(server) => postgres::connect(options, server).await,
    }
}

/// Connections that only read. None is opened before it is needed.
pub(crate) fn readers(options: &Options) -> Readers {
    match &options.location.0 {
        Place::File(path) => sqlite::readers(options, path),
        Place::Server(server) => postgres::readers(options, server),
    }
}
