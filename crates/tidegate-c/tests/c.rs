//! The C interface as a C program meets it: the header, the libraries, the example and what is
//! refused. Needs a C compiler, and `make c-header`'s tool for the header.
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

fn skip(why: &str) {
    // With nobody to hear it, it need not be said.
    let _ = writeln!(io::stderr(), "SKIPPED: {why}");
}

/// What `command` says, which must end well.
fn says(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}{stderr}");
    stdout.into()
}

fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The libraries as they are installed; `None`, aloud, where no C can be compiled.
fn installed() -> Option<TempDir> {
    if !exists("cc") {
        skip("there is no C compiler `cc`");
        return None;
    }
    // Libraries for C are nothing that a test of cargo's depends on, so they are built here.
    let root = Path::new(CRATE).join("../..");
    let built = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().to_path_buf();
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let target = built.parent().unwrap();
    says(
        Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "-p", "tidegate-c", "--profile", profile])
            .arg("--target-dir")
            .arg(target)
            .current_dir(&root),
    );
    let out = TempDir::new().unwrap();
    says(Command::new(root.join("packaging/c.sh")).arg(&built).arg(out.path()));
    Some(out)
}

/// The program of `source`, by the compiler `cc`, with `flags`.
fn compiled(cc: &str, source: &str, out: &TempDir, flags: &[&str]) -> PathBuf {
    let (lib, program) = (out.path().join("lib"), out.path().join("program"));
    says(
        Command::new(cc)
            .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-o"])
            .arg(&program)
            .arg(Path::new(CRATE).join(source))
            .arg("-I")
            .arg(out.path().join("include"))
            .arg("-L")
            .arg(&lib)
            .arg(format!("-Wl,-rpath,{}", lib.display()))
            .args(flags),
    );
    program
}

const C11: &str = "-std=c11";
const STATIC: &[&str] = &["-l:libtidegate_c.a", "-lpthread", "-lm", "-ldl"];
const SHARED: &[&str] = &["-ltidegate_c"];

#[test]
fn the_example_answers_as_the_same_in_rust() {
    let Some(out) = installed() else { return };
    let example = Path::new(CRATE).join("examples/flood.c");
    let lines = std::fs::read_to_string(example).unwrap().lines().count();
    assert!(lines <= 80, "{lines} lines");
    let examples = std::env::current_exe().unwrap();
    let rust = examples.parent().unwrap().parent().unwrap().join("examples/flood");
    for flags in [STATIC, SHARED] {
        let program = compiled("cc", "examples/flood.c", &out, &[&[C11], flags].concat());
        for arguments in [&["sfb,bins=32", "5000"][..], &["drop_tail", "5000"], &["codel"], &[]] {
            let c = says(Command::new(&program).args(arguments));
            assert_eq!(c, says(Command::new(&rust).args(arguments)), "{arguments:?}");
            assert!(c.starts_with("flood: ") && c.contains("\nsender: "), "{c}");
        }
        let wrong = Command::new(&program).arg("sbf").output().unwrap();
        assert_eq!(wrong.status.code(), Some(2));
        assert!(wrong.stderr.starts_with(b"error: queue = sbf: no such queue; known are"));
    }
}

#[test]
fn the_program_of_the_books_page_says_what_the_page_says() {
    let Some(out) = installed() else { return };
    let page = std::fs::read_to_string(Path::new(CRATE).join("../../docs/embed/c.md")).unwrap();
    let source = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let file = out.path().join("page.c");
    std::fs::write(&file, source).unwrap();
    let flags = [&[C11], SHARED].concat();
    let said = says(&mut Command::new(compiled("cc", file.to_str().unwrap(), &out, &flags)));
    assert!(page.contains(&format!("It prints `{}`", said.trim())), "{said}");
}

#[test]
fn bad_calls_are_refused_and_leave_nothing_behind() {
    let Some(out) = installed() else { return };
    let plain = [&[C11], STATIC].concat();
    let sanitized = [&["-g", "-fsanitize=address,undefined"][..], STATIC].concat();
    says(&mut Command::new(compiled("cc", "tests/refusals.c", &out, &plain)));
    says(&mut Command::new(compiled("cc", "tests/refusals.c", &out, &sanitized)));
}

#[test]
fn pkg_config_says_how_to_link_and_cplusplus_reads_the_header() {
    let Some(out) = installed() else { return };
    if exists("c++") {
        let source = out.path().join("header.cpp");
        std::fs::write(
            &source,
            "#include <tidegate.h>\nint main() { return *tidegate_version() == 0; }\n",
        )
        .unwrap();
        let program = compiled("c++", source.to_str().unwrap(), &out, STATIC);
        says(&mut Command::new(program));
    } else {
        skip("there is no C++ compiler `c++`");
    }
    if !exists("pkg-config") {
        return skip("there is no pkg-config");
    }
    let flags = says(
        Command::new("pkg-config")
            .args(["--cflags", "--libs", "tidegate"])
            .env("PKG_CONFIG_PATH", out.path().join("lib/pkgconfig")),
    );
    let program = out.path().join("by_pkg_config");
    says(
        Command::new("cc")
            .arg(Path::new(CRATE).join("examples/flood.c"))
            .args(flags.split_whitespace())
            .arg("-o")
            .arg(&program),
    );
    says(Command::new(program).env("LD_LIBRARY_PATH", out.path().join("lib")));
}

#[test]
fn the_header_is_made_of_the_sources() {
    let ours = Path::new(CRATE).join("../../target/cbindgen/bin/cbindgen");
    if !ours.exists() {
        return skip("cbindgen is not here; `make c-header` brings it");
    }
    let made = says(Command::new(ours).arg("--quiet").current_dir(CRATE));
    let header = std::fs::read_to_string(Path::new(CRATE).join("include/tidegate.h")).unwrap();
    assert!(made == header, "include/tidegate.h is not what `make c-header` makes");
}

/// Also where cbindgen is not: a function that the sources export stands in the header.
#[test]
fn every_function_is_in_the_header() {
    let header = std::fs::read_to_string(Path::new(CRATE).join("include/tidegate.h")).unwrap();
    let mut functions = 0;
    for file in std::fs::read_dir(Path::new(CRATE).join("src")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for name in text.split("extern \"C\" fn ").skip(1) {
            let name = name.split('(').next().unwrap();
            assert!(header.contains(&format!("{name}(")), "{name} is not in the header");
            functions += 1;
        }
    }
    assert!(functions >= 18, "{functions}");
}
