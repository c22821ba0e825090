//! `probehost plugin build`: a project's component, by the tools of its language.

mod python;
mod rust;
mod tools;
mod ts;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use std::{fs, io};

use clap::Args;

use super::new::Language;
use super::size;
use crate::cli::fail;
use tools::ToolError;

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// The project's folder.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Where the component goes. Without it, dist/NAME.wasm in the project.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Why there is no component. Each text says what to do.
#[derive(Debug, thiserror::Error)]
enum BuildError {
    #[error(
        "{} is no plugin project: it has neither Cargo.toml, package.json nor pyproject.toml; name \
         the project's folder, or make one with: probehost plugin new NAME --lang rust|ts|python", .0.display()
    )]
    NoProject(PathBuf),
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("{}: {wrong}", file.display())]
    Project { file: PathBuf, wrong: String },
    #[error("{} can't be written: {error}", file.display())]
    Write { file: PathBuf, error: io::Error },
    #[error("the build went through, but {} is not there; {hint}", file.display())]
    NoComponent { file: PathBuf, hint: &'static str },
}

/// A component that was built.
struct Built {
    name: String,
    file: PathBuf,
}

pub(crate) fn build(args: &BuildArgs) -> ExitCode {
    let began = Instant::now();
    match run(&args.dir, args.out.as_deref()) {
        Ok((file, size)) => {
            println!("{}  {}  {}", file.display(), size::bytes(size), size::time(began.elapsed()));
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error.to_string()),
    }
}

fn run(dir: &Path, out: Option<&Path>) -> Result<(PathBuf, u64), BuildError> {
    let built = match language(dir)? {
        Language::Rust => rust::build(dir)?,
        Language::Ts => ts::build(dir)?,
        Language::Python => python::build(dir)?,
    };
    let file = match out {
        Some(out) => out.to_owned(),
        None => dist(dir)?.join(format!("{}.wasm", built.name)),
    };
    let failed = |error| BuildError::Write { file: file.clone(), error };
    if fs::canonicalize(&file).ok() != fs::canonicalize(&built.file).ok() {
        // Never half of it: what watches the file would load that.
        let fresh = file.with_extension("wasm.new");
        fs::copy(&built.file, &fresh).and_then(|_| fs::rename(&fresh, &file)).map_err(failed)?;
    }
    let size = fs::metadata(&file).map_err(failed)?.len();
    Ok((file, size))
}

/// What a project is written in, by the file that its tools go by.
fn language(dir: &Path) -> Result<Language, BuildError> {
    [
        ("Cargo.toml", Language::Rust),
        ("package.json", Language::Ts),
        ("pyproject.toml", Language::Python),
    ]
    .into_iter()
    .find_map(|(file, language)| dir.join(file).is_file().then_some(language))
    .ok_or_else(|| BuildError::NoProject(dir.to_owned()))
}

/// The folder for what is built, which is made.
fn dist(dir: &Path) -> Result<PathBuf, BuildError> {
    let dist = dir.join("dist");
    match fs::create_dir_all(&dist) {
        Ok(()) => Ok(dist),
        Err(error) => Err(BuildError::Write { file: dist, error }),
    }
}

/// A project's file, as text.
fn read(file: &Path) -> Result<String, BuildError> {
    fs::read_to_string(file)
        .map_err(|error| BuildError::Project { file: file.to_owned(), wrong: error.to_string() })
}
