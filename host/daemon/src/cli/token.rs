//! `probehost token`: who may use the API. Works on the database of a config file, whether a host
//! runs on it or not.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use probehost_config::Config;
use probehost_model::{AccessRole, Timestamp, Token, check_id_text};
use probehost_monitor::Clock;
use probehost_store::Store;

use super::fail;
use super::table::Table;
use crate::api::access::{fresh, hash};
use crate::app::store_options;

/// The principal in the audit: who can write to the database is none of the host's.
const PRINCIPAL: &str = "command-line";
const DAY: Duration = Duration::from_hours(24);

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token, and show it: it is not kept, only its hash.
    New {
        /// Whose it is: its name in the audit.
        name: String,
        /// What it lets its holder do.
        #[arg(long)]
        role: RoleArg,
        /// After how many days it is worth nothing. Without it, it does not expire.
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
        expires: Option<u32>,
        #[command(flatten)]
        database: DatabaseArgs,
    },
    /// Show the tokens there are, without the tokens themselves.
    List {
        #[command(flatten)]
        database: DatabaseArgs,
    },
    /// End a token. A running host knows it within a second.
    Revoke {
        /// Its name.
        name: String,
        #[command(flatten)]
        database: DatabaseArgs,
    },
}

/// Which database.
#[derive(Debug, Args)]
pub(crate) struct DatabaseArgs {
    /// The config file, which names the database.
    #[arg(long, short, value_name = "FILE", default_value = "probehost.toml")]
    pub(crate) config: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RoleArg {
    /// Reads everything, changes nothing.
    Viewer,
    /// Besides: probes by hand, restarts and the like, enables and disables targets.
    Operator,
    /// Besides: creates, changes and deletes targets.
    Admin,
}

impl From<RoleArg> for AccessRole {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Viewer => Self::Viewer,
            RoleArg::Operator => Self::Operator,
            RoleArg::Admin => Self::Admin,
        }
    }
}

impl DatabaseArgs {
    /// Opens the database.
    pub(crate) async fn open(&self) -> Result<Store, String> {
        let config = Config::load(&self.config).map_err(|errors| errors.to_string())?;
        let options = store_options(&config).map_err(|error| error.to_string())?;
        Store::open(options).await.map_err(|error| error.to_string())
    }
}

pub(crate) async fn token(command: TokenCommand) -> ExitCode {
    let (TokenCommand::New { database, .. }
    | TokenCommand::List { database }
    | TokenCommand::Revoke { database, .. }) = &command;
    let store = match database.open().await {
        Ok(store) => store,
        Err(message) => return fail(&message),
    };
    let done = run(&store, &command).await;
    store.close().await;
    match done {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => fail(&message),
    }
}

async fn run(store: &Store, command: &TokenCommand) -> Result<String, String> {
    let now = Clock::System.now();
    match command {
        TokenCommand::New { name, role, expires, .. } => {
            check_id_text(name).map_err(|error| format!("the name of a token {error}"))?;
            let token = fresh().map_err(|_| "this system gives no random numbers".to_owned())?;
            let end = expires.map(|days| now.plus(DAY * days));
            let made =
                store.create_token((name, (*role).into()), hash(&token), end, now, PRINCIPAL);
            made.await.map_err(|error| error.to_string())?;
            eprintln!("This is the token of {name}. It is shown this once, and not kept:");
            Ok(format!("{token}\n"))
        }
        TokenCommand::List { .. } => {
            let tokens = store.tokens().await.map_err(|error| error.to_string())?;
            Ok(list(&tokens, now))
        }
        TokenCommand::Revoke { name, .. } => {
            let revoked = store.revoke_token(name, now, PRINCIPAL).await;
            revoked.map_err(|error| error.to_string())?;
            Ok(format!("the token of {name} is revoked\n"))
        }
    }
}

fn list(tokens: &[Token], now: Timestamp) -> String {
    if tokens.is_empty() {
        return "there are no tokens: everybody on this machine may do everything\n".to_owned();
    }
    let mut table = Table::new(&["NAME", "ROLE", "CREATED", "EXPIRES", "STATE"]);
    for token in tokens {
        let state = match (token.revoked_at, token.is_active(now)) {
            (Some(_), _) => "revoked",
            (None, true) => "active",
            (None, false) => "expired",
        };
        table.row([
            token.name.clone(),
            token.role.to_string(),
            token.created_at.to_string(),
            token.expires_at.map_or_else(|| "-".to_owned(), |at| at.to_string()),
            state.to_owned(),
        ]);
    }
    table.to_string()
}
