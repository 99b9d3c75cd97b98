//! The Debian package: built, installed into a scratch root, run from there, removed without a
//! trace. And its unit.
#![cfg(target_os = "linux")]
mod common;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::repository;
use tidegate_gateway::machine::namespaces::{run, skip};

const TIDEGATE: &str = env!("CARGO_BIN_EXE_tidegate");
const UNIT: &str = "usr/lib/systemd/system/tidegate.service";

/// A folder that dpkg takes for a machine, on which nothing is installed.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Machine {
        let machine = Machine(tempfile::tempdir().unwrap());
        for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log"] {
            fs::create_dir_all(machine.at(folder)).unwrap();
        }
        for file in ["var/lib/dpkg/status", "var/lib/dpkg/available", "var/log/dpkg.log"] {
            fs::write(machine.at(file), "").unwrap();
        }
        machine
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// dpkg on it. It has no libc, and no shell of its own for the package's scripts.
    fn dpkg(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("dpkg");
        command.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap()));
        command.arg(format!("--root={}", self.0.path().display()));
        command.arg(format!("--log={}", self.at("var/log/dpkg.log").display()));
        run(command.args(["--force-script-chrootless", "--force-depends"]).args(arguments)).unwrap()
    }

    /// All files and empty folders except dpkg's own books.
    fn files(&self) -> BTreeSet<String> {
        let found = run(Command::new("find")
            .arg(self.0.path())
            .args(["(", "!", "-type", "d", "-o", "-empty", ")", "-printf", "%P\\n"]))
        .unwrap();
        found.lines().filter(|path| !path.starts_with("var/l")).map(String::from).collect()
    }
}

/// The package of the command that is tested, in `folder`; `None` where this machine cannot build
/// or install one.
fn package(folder: &Path) -> Option<String> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        skip("not root");
        return None;
    }
    for program in ["dpkg-deb", "strip"] {
        if Command::new(program).arg("--version").output().is_err() {
            skip(&format!("{program} is not installed"));
            return None;
        }
    }
    let mut build = Command::new(repository().join("packaging/deb/build.sh"));
    let path = run(build.arg(TIDEGATE).arg(folder).env("COMPRESSION", "none")).unwrap();
    Some(path.trim().to_string())
}

/// What the package brings, besides the command.
const INSTALLED: [&str; 11] = [
    UNIT,
    "etc/tidegate/gate.toml",
    "usr/share/man/man1/tidegate.1.gz",
    "usr/share/man/man1/tidegate-gate.1.gz",
    "usr/share/bash-completion/completions/tidegate",
    "usr/share/zsh/vendor-completions/_tidegate",
    "usr/share/fish/vendor_completions.d/tidegate.fish",
    "usr/share/doc/tidegate/copyright",
    "usr/share/doc/tidegate/docs/operate/install.md",
    "usr/share/doc/tidegate/grafana-dashboard.json",
    "usr/share/doc/tidegate/tidegate.rules.yml",
];

#[test]
fn it_is_installed_runs_keeps_what_was_configured_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(package) = package(folder.path()) else { return };
    let machine = Machine::new();
    let before = machine.files();
    machine.dpkg(&["--install", &package]);
    let version = run(Command::new(machine.at("usr/bin/tidegate")).arg("--version")).unwrap();
    assert_eq!(version, format!("tidegate {}\n", env!("CARGO_PKG_VERSION")));
    for file in INSTALLED {
        assert!(
            machine.at(file).metadata().is_ok_and(|file| file.len() > 100),
            "{file}: {:?}",
            machine.files()
        );
    }
    let copyright = fs::read_to_string(machine.at("usr/share/doc/tidegate/copyright")).unwrap();
    assert!(
        copyright.contains(" Permission is hereby granted") && !copyright.contains('@'),
        "{copyright}"
    );
    let sums = machine.at("var/lib/dpkg/info/tidegate.md5sums");
    run(Command::new("md5sum")
        .args(["--quiet", "--check"])
        .arg(sums)
        .current_dir(machine.0.path()))
    .unwrap();
    assert!(!machine.at("etc/systemd").exists(), "it is enabled");

    // What the operator has written stays. What `systemctl enable` has linked goes.
    fs::write(machine.at("etc/tidegate/gate.toml"), "# mine\n").unwrap();
    machine.dpkg(&["--install", &package]);
    assert_eq!(fs::read_to_string(machine.at("etc/tidegate/gate.toml")).unwrap(), "# mine\n");
    let wants = machine.at("etc/systemd/system/multi-user.target.wants");
    fs::create_dir_all(&wants).unwrap();
    std::os::unix::fs::symlink(Path::new("/").join(UNIT), wants.join("tidegate.service")).unwrap();
    machine.dpkg(&["--remove", "tidegate"]);
    assert!(
        !machine.at("usr").exists() && machine.at("etc/tidegate/gate.toml").exists(),
        "{:?}",
        machine.files()
    );
    machine.dpkg(&["--purge", "tidegate"]);
    assert!(!wants.join("tidegate.service").is_symlink());
    fs::remove_dir_all(machine.at("etc/systemd")).unwrap();
    let _ = fs::remove_dir(machine.at("etc"));
    assert_eq!(machine.files(), before);
}

#[test]
fn only_a_static_command_goes_into_the_archive_for_all_systems() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("static");
    let packed =
        Command::new(repository().join("packaging/static.sh")).arg(TIDEGATE).arg(&out).output();
    let packed = packed.unwrap();
    let said = String::from_utf8_lossy(&packed.stderr);
    assert!(!packed.status.success() && said.contains("is linked with libraries"), "{said}");
    assert!(!out.exists());
}

#[test]
fn the_file_that_comes_with_it_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.toml");
    fs::copy(repository().join("packaging/gate.toml"), &file).unwrap();
    let ran =
        Command::new(TIDEGATE).args(["gate", "--dry-run", "--config"]).arg(&file).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    // Of all that is asked of a machine only interfaces of these names may be missing here.
    assert!(ran.status.success() || err.contains("eth1") && !err.contains("gate.toml"), "{err}");
}

#[test]
fn systemd_understands_the_unit() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return skip("systemd-analyze is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let unit = fs::read_to_string(repository().join("packaging/tidegate.service")).unwrap();
    let here = folder.path().join("tidegate.service");
    fs::write(&here, unit.replace("/usr/bin/tidegate", TIDEGATE)).unwrap();
    let verified =
        Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&here).output().unwrap();
    let told = String::from_utf8_lossy(&verified.stderr).into_owned();
    // What it says of other units of this machine is not ours.
    let ours: Vec<_> = told.lines().filter(|line| line.contains("tidegate.service")).collect();
    assert!(ours.is_empty(), "{told}");
}
