//! Tokens and sessions: contract E4.

use probehost_model::{AccessRole, Action, Timestamp};
use probehost_store::{AuditFilter, Session, StoreError};

use crate::backend::{Backend, on_both};
use crate::common::{Fixture, at};

async fn create(
    fixture: &Fixture,
    name: &str,
    hash: &str,
    now: i64,
    end: Option<Timestamp>,
) -> Result<(), StoreError> {
    let (store, role) = (&fixture.store, AccessRole::Operator);
    store.create_token((name, role), hash.to_owned(), end, at(now), "root").await
}

fn session(hash: &str, token: &str) -> Session {
    let (hash, token) = (hash.to_owned(), token.to_owned());
    Session { hash, token, created_at: at(1), expires_at: at(100) }
}

/// E4, A1: a token is kept as its hash, its name is given once while it is in use, and both its
/// making and its end are audited.
async fn a_name_has_one_token_at_a_time(on: Backend) {
    let fixture = Fixture::new(on).await;
    create(&fixture, "ci", "aa", 1, None).await.unwrap();
    let taken = create(&fixture, "ci", "bb", 2, None).await;
    assert_eq!(taken, Err(StoreError::TokenExists("ci".to_owned())));
    let tokens = fixture.store.tokens().await.unwrap();
    assert_eq!(tokens.len(), 1);
    assert_eq!((tokens[0].hash.as_str(), tokens[0].role), ("aa", AccessRole::Operator));

    fixture.store.revoke_token("ci", at(3), "root").await.unwrap();
    let gone = fixture.store.revoke_token("ci", at(4), "root").await;
    assert_eq!(gone, Err(StoreError::NoSuchToken("ci".to_owned())));
    assert!(!fixture.store.tokens().await.unwrap()[0].is_active(at(4)));
    // Its name is free again, and so is one whose token has expired.
    create(&fixture, "ci", "bb", 5, Some(at(9))).await.unwrap();
    create(&fixture, "ci", "cc", 8, None).await.unwrap_err();
    create(&fixture, "ci", "cc", 9, None).await.unwrap();
    assert_eq!(fixture.store.tokens().await.unwrap()[0].hash, "cc");

    let filter = AuditFilter { action: Some(Action::TokenChanged), ..AuditFilter::default() };
    let told: Vec<_> = fixture.store.audit(&filter).await.unwrap();
    let told: Vec<_> = told.iter().rev().map(|row| (&*row.principal, &*row.outcome)).collect();
    let created = ("root", "created ci, operator");
    assert_eq!(told, [created, ("root", "revoked ci"), created, created]);
}

/// E4: a session ends at its time, when it is ended, and with the token that it was begun with.
async fn a_session_ends_with_its_token(on: Backend) {
    let fixture = Fixture::new(on).await;
    let store = &fixture.store;
    create(&fixture, "ops", "aa", 1, None).await.unwrap();
    for hash in ["s1", "s2"] {
        store.begin_session(session(hash, "ops")).await.unwrap();
    }
    let name = |hash: &'static str, now| async move {
        store.session_token(hash, at(now)).await.unwrap().map(|token| token.name)
    };
    assert_eq!(name("s1", 99).await.as_deref(), Some("ops"));
    assert_eq!(name("s1", 100).await, None);
    assert_eq!(name("aa", 2).await, None, "a token is no session");
    store.end_session("s1", at(2)).await.unwrap();
    assert_eq!(name("s1", 2).await, None);
    assert_eq!(name("s2", 2).await.as_deref(), Some("ops"));

    store.revoke_token("ops", at(3), "root").await.unwrap();
    create(&fixture, "ops", "bb", 4, None).await.unwrap();
    assert_eq!(name("s2", 5).await, None, "the new token is another");
    store.begin_session(session("s3", "ops")).await.unwrap();
    store.begin_session(session("s4", "nobody")).await.unwrap();
    assert_eq!(name("s3", 5).await.as_deref(), Some("ops"));
    assert_eq!(name("s4", 5).await, None);
    store.tidy_sessions(at(100)).await.unwrap();
    assert_eq!(name("s3", 5).await, None);
}

on_both!(a_name_has_one_token_at_a_time, a_session_ends_with_its_token);
