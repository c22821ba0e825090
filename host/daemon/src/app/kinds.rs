//! The probe kinds of a host: its plugins, and what the operator says of each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use probehost_builtin::BUILTIN;
use probehost_capability::container::Engine;
use probehost_capability::process::{Command, Commands, Value};
use probehost_capability::resolve::Resolver;
use probehost_capability::runtime::Runtimes;
use probehost_capability::secrets::Secrets;
use probehost_capability::ssh::Local;
use probehost_capability::{Capabilities, Options as CapabilityOptions};
use probehost_config::{
    Config, EnvValue, INTERVAL_VARIABLE, IntervalClamp, KindRules, PluginSettings, Resolved,
};
use probehost_model::Clamp;
use probehost_model::grant::Pattern;
use probehost_sandbox::{Catalog, Options as SandboxOptions, PluginState, Sandbox};
use tracing::{info, warn};

use super::{AppError, SandboxProber};

/// What the operator says of the plugins.
#[derive(Debug, Default)]
pub struct Setup {
    /// Where `*.wasm` files are.
    pub directory: Option<PathBuf>,
    /// Where compiled code is kept. None: nowhere.
    pub cache: Option<PathBuf>,
    /// `[plugins.NAME]`.
    pub settings: BTreeMap<String, PluginSettings>,
    /// Further certificates to trust.
    pub root_files: Vec<PathBuf>,
    /// The file of known hosts, by which SSH jump hosts are verified. None: the user's own.
    pub known_hosts: Option<PathBuf>,
    /// A folder with one file for each secret.
    pub secrets: Option<PathBuf>,
    /// A file of secrets.
    pub secrets_file: Option<PathBuf>,
    /// The address of the container engine. None: Docker's usual socket.
    pub engine: Option<String>,
    /// A folder with the engine's `ca.pem`, and this host's `cert.pem` and `key.pem`.
    pub engine_tls: Option<PathBuf>,
    /// Programs that plugins may talk to.
    pub commands: Commands,
    /// Most probes at once.
    pub concurrency: u32,
    /// The one built-in plugin that is wanted. None: all.
    pub only: Option<String>,
}

impl Setup {
    /// What a config says of them.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self {
            directory: config.plugins.directory.clone(),
            cache: Some(config.plugins.cache.clone()),
            settings: config.plugins.by_name.clone(),
            root_files: config.tls.ca_files.iter().map(|file| file.path.clone()).collect(),
            known_hosts: config.ssh.known_hosts.clone(),
            secrets: config.secrets.directory.clone(),
            secrets_file: config.secrets.file.clone(),
            engine: config.containers.engine.clone(),
            engine_tls: config.containers.tls.clone(),
            commands: config.commands.iter().map(|(name, c)| (name.clone(), command(c))).collect(),
            concurrency: config.probes.concurrency,
            only: None,
        }
    }

    /// Where secrets are.
    pub(crate) fn secrets(&self) -> Secrets {
        Secrets::system(self.secrets.clone()).with_file(self.secrets_file.clone())
    }

    fn engine(&self) -> Result<Engine, AppError> {
        let engine = match &self.engine {
            Some(address) => address.parse()?,
            None => Engine::default(),
        };
        Ok(match &self.engine_tls {
            Some(folder) => engine.with_tls(folder)?,
            None => engine,
        })
    }

    /// What plugins and notifications can be given, with this machine's network.
    ///
    /// # Errors
    /// A file of certificates, this machine's way to resolve names, or the address of the container
    /// engine can't be used.
    pub(crate) fn capabilities(&self) -> Result<Capabilities, AppError> {
        let resolver = Resolver::system()?;
        let root_files = self.root_files.clone();
        let options = CapabilityOptions { resolver, system_roots: true, root_files };
        let mut local = Local::system();
        local.known_hosts = self.known_hosts.clone().or(local.known_hosts);
        local.secrets = self.secrets();
        Ok(Capabilities::with_local(options, local)?
            .with_engine(self.engine()?)
            .with_commands(self.commands.clone(), self.secrets()))
    }

    /// What restarts managed targets.
    ///
    /// # Errors
    /// The address of the container engine can't be used.
    pub(crate) fn runtimes(&self) -> Result<Runtimes, AppError> {
        Ok(Runtimes::new(self.engine()?, self.commands.clone(), self.secrets()))
    }
}

/// The plugins that are loaded, with what the operator grants to each.
#[derive(Debug)]
pub struct Kinds {
    catalog: Arc<Catalog>,
    directory: Option<PathBuf>,
    operator: RwLock<Arc<BTreeMap<String, Operator>>>,
}

/// What the operator says of one plugin, as far as it can change while the host runs.
#[derive(Debug, Clone)]
struct Operator {
    allowed: Vec<Pattern>,
    concurrency: Option<u32>,
}

impl Kinds {
    /// Loads the built-in plugins and those of the directory. A bad file is logged and listed,
    /// and keeps nothing else from loading (contract G1, P9).
    ///
    /// # Errors
    /// The sandbox can't be set up, or a built-in plugin does not load.
    pub async fn load(setup: &Setup) -> Result<Self, AppError> {
        let options = SandboxOptions {
            // A few places more than probes, for plans and descriptions.
            instances: setup.concurrency.saturating_add(8).min(10_000),
            cache: setup.cache.clone(),
            ..SandboxOptions::default()
        };
        let pins = setup
            .settings
            .iter()
            .filter_map(|(name, settings)| Some((name.clone(), hexadecimal(&settings.sha256?))));
        let catalog = Catalog::new(Sandbox::new(options)?, pins.collect());
        // One that is asked for alone is all there is to compile, unless there is none such: then
        // the answer tells what there is.
        let alone = |name: &str| setup.only.as_ref().is_none_or(|only| only == name);
        let any = BUILTIN.iter().any(|builtin| alone(builtin.name));
        for builtin in BUILTIN.iter().filter(|builtin| !any || alone(builtin.name)) {
            let pinned = setup.settings.get(builtin.name).is_some_and(|s| s.sha256.is_some());
            match catalog.load_builtin(builtin.name, builtin.bytes).await {
                Ok(_) => {}
                // The operator wants another one than the built-in: a file may be that.
                Err(error) if pinned => warn!(plugin = builtin.name, %error, "not loaded"),
                Err(error) => return Err(AppError::Builtin { name: builtin.name, error }),
            }
        }
        let kinds = Self {
            catalog: Arc::new(catalog),
            directory: setup.directory.clone(),
            operator: RwLock::default(),
        };
        kinds.set_operator(setup);
        kinds.load_directory().await;
        Ok(kinds)
    }

    /// The plugins of a catalog that is filled already, as an author tries them: `allowed` is what
    /// an operator would grant to `kind` besides what configs name.
    pub(crate) fn of_catalog(catalog: Catalog, kind: &str, allowed: Vec<Pattern>) -> Self {
        let operator = Operator { allowed, concurrency: None };
        let operator = BTreeMap::from([(kind.to_owned(), operator)]);
        Self {
            catalog: Arc::new(catalog),
            directory: None,
            operator: RwLock::new(Arc::new(operator)),
        }
    }

    /// Takes over what the operator says of each plugin now.
    pub(crate) fn set_operator(&self, setup: &Setup) {
        let fresh = setup.settings.iter().map(|(name, settings)| {
            let allowed = settings.allow.iter().map(|grant| grant.pattern.clone()).collect();
            (name.clone(), Operator { allowed, concurrency: settings.concurrency })
        });
        let fresh = Arc::new(fresh.collect());
        *self.operator.write().unwrap_or_else(PoisonError::into_inner) = fresh;
    }

    fn operator(&self, kind: &str) -> Option<Operator> {
        let all = Arc::clone(&self.operator.read().unwrap_or_else(PoisonError::into_inner));
        all.get(kind).cloned()
    }

    /// Where further plugins are.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Loads what is new or has changed in the directory, and lets go of what is gone. Gives the
    /// kinds that were loaded.
    pub(crate) async fn load_directory(&self) -> Vec<String> {
        let Some(directory) = &self.directory else { return Vec::new() };
        match self.catalog.load_dir(directory).await {
            Ok(changes) => {
                for (path, error) in &changes.failed {
                    warn!(file = %path.display(), error, "plugin not loaded");
                }
                if !changes.loaded.is_empty() {
                    info!(plugins = changes.loaded.join(", "), "plugins loaded");
                }
                if !changes.removed.is_empty() {
                    warn!(plugins = changes.removed.join(", "), "plugin files are gone");
                }
                changes.loaded
            }
            Err(error) => {
                warn!(
                    directory = %directory.display(), %error,
                    "the plugin directory can't be read; only what was loaded before serves"
                );
                Vec::new()
            }
        }
    }

    /// The plugins themselves.
    #[must_use]
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// What the operator allows a plugin besides what configs name.
    pub(crate) fn allowed(&self, kind: &str) -> Vec<Pattern> {
        self.operator(kind).map(|operator| operator.allowed).unwrap_or_default()
    }

    /// How many probes of a kind may run at once: what the operator says, else what it says.
    pub(crate) fn concurrency(&self, kind: &str) -> Option<u32> {
        let all = Arc::clone(&self.operator.read().unwrap_or_else(PoisonError::into_inner));
        let own = || self.catalog.get(kind)?.manifest().concurrency;
        all.get(kind).and_then(|operator| operator.concurrency).or_else(own)
    }

    /// What the config needs to know of a kind. None: it is not installed.
    pub(crate) fn rules(&self, kind: &str) -> Option<KindRules> {
        let plugin = self.catalog.get(kind)?;
        let manifest = plugin.manifest();
        Some(KindRules {
            interval: manifest.interval,
            timeout: manifest.timeout,
            threshold: manifest.threshold,
            schema: manifest.config_schema.clone(),
        })
    }

    /// The targets of a config, judged by the plugins' schemas.
    pub(crate) fn resolve(&self, config: &Config) -> Resolved {
        config.resolve(&|kind| self.rules(kind))
    }

    /// Why checks of a kind can't be probed, and what to do (contract P9). None: they can.
    pub(crate) fn problem(&self, kind: &str) -> Option<String> {
        if self.catalog.get(kind).is_some() {
            return None;
        }
        let plugins = self.catalog.list();
        let failed = plugins.iter().find_map(|info| match &info.state {
            PluginState::Failed(why) if info.name == kind => Some((&info.source, why)),
            _ => None,
        });
        if let Some((source, why)) = failed {
            return Some(format!("its plugin {kind} did not load ({source}): {why}"));
        }
        let ready = plugins.iter().filter(|info| info.state == PluginState::Ready);
        let names: BTreeSet<&str> = ready.map(|info| info.name.as_str()).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        let put = match &self.directory {
            Some(directory) => format!("put {kind}.wasm into {}", directory.display()),
            None => format!("name a folder with {kind}.wasm as [plugins] directory"),
        };
        Some(format!("the plugin {kind} is not installed (there is {names}); {put}"))
    }

    /// A prober that runs these plugins with this machine's network.
    ///
    /// # Errors
    /// A file of certificates, this machine's way to resolve names, or the address of the container
    /// engine can't be used.
    pub fn prober(self: Arc<Self>, setup: &Setup) -> Result<SandboxProber, AppError> {
        Ok(SandboxProber::new(self, setup.capabilities()?))
    }
}

/// A command as the capability wants it.
fn command(command: &probehost_config::Command) -> Command {
    let env = command.env.iter().map(|(name, value)| {
        let value = match value {
            EnvValue::Text(text) => Value::Text(text.clone()),
            EnvValue::Secret(secret) => Value::Secret(secret.clone()),
        };
        (name.clone(), value)
    });
    Command { argv: command.argv.clone(), env: env.collect(), cwd: command.cwd.clone() }
}

/// What an operator is told of an interval that was changed (contract S6).
pub(crate) fn clamp_text(clamp: &IntervalClamp) -> String {
    let (kind, seconds) = (&clamp.kind, clamp.interval.as_secs());
    let what = match clamp.clamp {
        Clamp::Negative => {
            format!("is below 0: checks of {kind} run every {seconds} s, the default")
        }
        Clamp::RaisedToMinimum => format!("is under the minimum of {kind}: {seconds} s is taken"),
        Clamp::LoweredToMaximum => format!("is over the maximum of {kind}: {seconds} s is taken"),
    };
    match &clamp.location {
        Some(location) => format!("{location}: {} {what}", location.key),
        None => format!("{INTERVAL_VARIABLE} {what}"),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
