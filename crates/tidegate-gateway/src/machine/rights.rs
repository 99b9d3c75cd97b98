//! What a process must be allowed to run a gate, and what to say to one that is not.
use std::io;

/// By the kernel's number and by name: to change interfaces, to receive and send frames, to load
/// the program and to find one that is there already. The last includes `cap_bpf`, which does not
/// include it.
pub const CAPABILITIES: [(u32, &str); 3] =
    [(12, "cap_net_admin"), (13, "cap_net_raw"), (21, "cap_sys_admin")];

/// Their names, as setcap has them.
pub fn names() -> String {
    CAPABILITIES.map(|(_, name)| name).join(",")
}

/// The command that gives them to the user who runs this program, from where it runs now.
pub fn mend() -> String {
    let program =
        std::env::current_exe().map_or("tidegate".into(), |path| path.display().to_string());
    format!("setcap {}+ep \"{program}\"", names())
}

/// `error`; if it is that we are not allowed, with who is and what mends it.
pub fn explained(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let (names, mend) = (names(), mend());
            io::Error::new(
                error.kind(),
                format!(
                    "{error}: this is for root, as with sudo, or for who holds {names}:\n  {mend}"
                ),
            )
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_allowed_is_told_who_is_and_nobody_else() {
        let told = explained(io::Error::from_raw_os_error(libc::EPERM));
        assert_eq!(told.kind(), io::ErrorKind::PermissionDenied);
        let program = std::env::current_exe().unwrap();
        for said in [
            "Operation not permitted",
            "root",
            "cap_net_admin,cap_net_raw,cap_sys_admin+ep",
            program.to_str().unwrap(),
        ] {
            assert!(told.to_string().contains(said), "{told}");
        }
        let other = explained(io::Error::from_raw_os_error(libc::ENODEV));
        assert_eq!(other.raw_os_error(), Some(libc::ENODEV));
    }
}
