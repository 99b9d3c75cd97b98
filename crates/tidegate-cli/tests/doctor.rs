//! `tidegate doctor` in a network of our own.
#![cfg(target_os = "linux")]
use serde_json::Value;
use tidegate_gateway::machine::namespaces::{Namespace, cable, possible, skip};

/// Exit code, standard output, standard error of `tidegate doctor` with `args` in `namespace`.
fn doctor(namespace: &Namespace, args: &[&str]) -> (i32, String, String) {
    let command = [&[env!("CARGO_BIN_EXE_tidegate"), "doctor"], args].concat();
    let ran = namespace.command(&command).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.code().unwrap(), text(&ran.stdout), text(&ran.stderr))
}

#[test]
fn what_interfaces_lack_is_told_with_the_command_that_mends_it() {
    if let Err(why) = possible() {
        return skip(&why);
    }
    let namespace =
        |part| Namespace::new(&format!("tg-doctor-{part}-{}", std::process::id())).unwrap();
    let (gate, far) = (namespace("gate"), namespace("far"));
    cable((&gate, "if1"), (&far, "far1"), 1500).unwrap();
    cable((&gate, "if2"), (&far, "far2"), 1500).unwrap();
    let ends = ["--in", "if1", "--out", "if2"];

    let (code, out, err) = doctor(&gate, &ends);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("ok      kernel program  loads") && !out.contains("lacks"), "{out}");

    gate.run(&["sh", "-ec", "ethtool -K if1 gro on; ip link set if2 down"]).unwrap();
    let (code, out, err) = doctor(&gate, &ends);
    assert_eq!((code, err.as_str()), (1, "error: a gateway lacks 2 things here\n"), "{out}");
    for told in [
        "lacks   interface       if1 makes one frame of several that arrive (gro)\n\
        \x20                       ethtool -K if1 gro off\n",
        "lacks   interface       if2 is down\n                        ip link set if2 up\n",
    ] {
        assert!(out.contains(told), "{out}");
    }

    let (code, out, _) = doctor(&gate, &["--json", "--in", "if1", "--out", "if9"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &document["ready"], &document["schema"]),
        (1, &false.into(), &"tidegate.doctor/1".into())
    );
    let checks = document["checks"].as_array().unwrap();
    let missing = checks.iter().find(|check| check["state"] == "lacks").unwrap();
    assert_eq!(missing["found"], "there is no interface if9; there are if1, if2");
    assert!(missing["mend"].is_null());

    let (code, _, err) = doctor(&gate, &["--in", "if1"]);
    assert!(code == 2 && err.contains("--out <IF2>"), "{err}");
}
