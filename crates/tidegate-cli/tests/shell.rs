//! `tidegate shell` in a network of its own. Skipped, and says so, where none can be made.
#[path = "shell/agrees.rs"]
mod agrees;
mod common;
#[path = "shell/within.rs"]
mod within;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Home, Ran};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tidegate_gateway::machine::namespaces::skip;
use within::{Outside, Shell, TIDEGATE, round_trip, socket};

/// Any user that is not root.
const NOBODY: [&str; 5] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_made() {
    let home = Home::new();
    let refuses = |args: &[&str], words: &[&str]| {
        home.refuses(2, &[&["shell"], args, &["--", "true"]].concat(), words);
    };
    refuses(&["--rate", "20mbit", "--queue", "sfbb"], &["up: ", "sfbb", "did you mean `sfb`?"]);
    refuses(&["--down-rate", "1mbit", "--queue", "red,max_th=2 kB,min_th=3 kB"], &["down: "]);
    refuses(&["--queue", "sfb"], &["--queue", "--rate"]);
    refuses(&["--up-limit", "9 kB"], &["--limit", "--trace"]);
    refuses(&["--rate", "10 mbps"], &["ambiguous"]);
    refuses(&["--rate", "0 bit/s"], &["rate", "0 bit/s"]);
    refuses(&["--delay", "3 s"], &["delay", "at most 2 s"]);
    refuses(&["--loss", "1.5"], &["1.5"]);
    refuses(&["--forward", "0"], &["0", "1..=65535"]);
    refuses(&["--rate", "1mbit", "--trace", "x"], &["cannot be used with"]);
    refuses(&["--trace", "none"], &["none: No such file"]);
    home.write("back.trace", "5\n3\n");
    refuses(&["--down-trace", "back.trace"], &["back.trace: line 2 = 3", "time runs back"]);
    home.write("words.trace", "5\nsix\n");
    refuses(&["--trace", "words.trace"], &["words.trace: line 2", "milliseconds"]);
    home.write("binary.trace", b"\xff\xfe\0");
    refuses(&["--trace", "binary.trace"], &["binary.trace: is no text", "milliseconds"]);
    home.write("still.trace", "0\n");
    refuses(&["--trace", "still.trace"], &["still.trace: line 1", "above 0 ms"]);
    home.write("empty.trace", "");
    refuses(&["--trace", "empty.trace"], &["empty.trace"]);
    home.write("there-up.pcapng", "");
    refuses(&["--record", "there.pcapng"], &["there-up.pcapng: is there already"]);
    home.refuses(2, &["shell", "--", ""], &["the command is empty"]);
}

#[test]
fn the_commands_status_is_ours() {
    let Some(outside) = Outside::new() else { return };
    let status = |words: &[&str]| -> Ran {
        let ran = outside.shell(&[&["--delay", "1 ms", "--"], words].concat());
        ran.stdin_null().output().unwrap().into()
    };
    assert_eq!(status(&["true"]).code, 0);
    assert_eq!(status(&["sh", "-c", "exit 7"]).code, 7);
    assert_eq!(status(&["sh", "-c", "kill -TERM $$"]).code, 128 + 15);
    status(&["no-such-program"]).refused(127, &["error: no-such-program: No such file"]);
    status(&["/etc/passwd"]).refused(126, &["error: /etc/passwd: Permission denied"]);
    assert_eq!(outside.interfaces(), ["lo"], "nothing is left");
}

#[test]
fn signals_are_for_the_command_and_nothing_is_left_of_a_shell_that_was_killed() {
    let Some(outside) = Outside::new() else { return };
    let script =
        "trap 'echo heard; exit 5' TERM; echo $$ $TIDEGATE_BASE; while :; do sleep .05; done";
    let mut shell = Shell::start(outside.shell(&["--", "sh", "-c", script]));
    assert!(outside.interfaces().len() == 2, "{:?}", outside.interfaces());
    kill(Pid::from_raw(shell.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!((shell.line().as_str(), shell.wait()), ("heard", Some(5)));

    let mut shell = Shell::start(outside.shell(&["--rate", "1mbit", "--", "sh", "-c", script]));
    let command = format!("/proc/{}", shell.command);
    kill(Pid::from_raw(shell.id() as i32), Signal::SIGKILL).unwrap();
    assert_eq!(shell.wait(), None);
    let begun = Instant::now();
    while outside.interfaces() != ["lo"] || std::path::Path::new(&command).exists() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", outside.interfaces());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn shells_nest_and_each_adds_its_delay() {
    let Some(outside) = Outside::new() else { return };
    let inner = [TIDEGATE, "shell", "--delay", "7 ms", "--"];
    let words = [&["--delay", "20 ms", "--"], &inner[..], &inner, &Shell::WAITS].concat();
    let shell = Shell::start(outside.shell(&words));
    assert_eq!(shell.base.to_string(), "100.64.0.1", "that of the outermost");
    let took = round_trip(&outside.net, &shell.net, shell.base);
    assert!(took >= Duration::from_millis(68), "2 × (20 + 7 + 7) ms: {took:?}");
    // Beside it in the same network.
    let other = Shell::start(outside.shell(&[&["--"], &Shell::WAITS[..]].concat()));
    assert_eq!(other.base.to_string(), "100.65.0.1");
    round_trip(&outside.net, &other.net, other.base);
}

#[test]
fn without_root_servers_run_in_a_shell_around() {
    let Some(outside) = Outside::new() else { return };
    let inner = format!(
        "echo $$ nowhere; exec {TIDEGATE} shell --delay '9 ms' -- sh -c 'id -u; echo $$ \
         $TIDEGATE_BASE; exec sleep 60'"
    );
    let words = [&NOBODY[..], &[TIDEGATE, "shell", "--", "sh", "-c", &inner]].concat();
    let mut command = outside.command(&words);
    let mut around = match Shell::try_start(command.env_remove("TIDEGATE_BASE")) {
        Ok(around) => around,
        Err(why) => return skip(&format!("no namespaces without root: {why}")),
    };
    assert_eq!(around.line(), "65534", "who runs it stays who he is");
    let within = around.line();
    let (command, base) = within.split_once(' ').unwrap();
    let net = within::net_of(command.parse().unwrap());
    let took = round_trip(&around.net, &net, base.parse().unwrap());
    assert!(took >= Duration::from_millis(18), "{took:?}");
    assert_eq!(outside.interfaces(), ["lo"], "nothing outside was touched");
}

#[test]
fn ports_that_are_named_lead_to_this_machine() {
    let Some(outside) = Outside::new() else { return };
    let here = || {
        let at = (Ipv4Addr::LOCALHOST, 7200);
        (TcpListener::bind(at).unwrap(), UdpSocket::bind(at).unwrap())
    };
    let (listener, socket) = outside.net.inside(here).unwrap();
    let options = [TIDEGATE, "shell", "--delay", "9 ms", "--forward", "7200", "--"];
    let mut command = outside.command(&[&NOBODY[..], &options, &Shell::WAITS].concat());
    let shell = match Shell::try_start(&mut command) {
        Ok(shell) => shell,
        Err(why) => return skip(&format!("no namespaces without root: {why}")),
    };
    let begun = Instant::now();
    let connect = || TcpStream::connect((shell.base, 7200));
    let mut client = shell.net.inside(connect).unwrap().unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let mut text = String::new();
    client.write_all(b"there").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    server.read_to_string(&mut text).unwrap();
    server.write_all(b" and back").unwrap();
    drop(server);
    client.read_to_string(&mut text).unwrap();
    assert_eq!(text, "there and back");
    assert!(begun.elapsed() >= Duration::from_millis(36), "two round trips");

    let bind = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
    let client = shell.net.inside(bind).unwrap().unwrap();
    for socket in [&client, &socket] {
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    }
    client.send_to(b"ping", (shell.base, 7200)).unwrap();
    let mut bytes = [0; 10];
    let (len, from) = socket.recv_from(&mut bytes).unwrap();
    socket.send_to(&bytes[..len], from).unwrap();
    assert_eq!(client.recv(&mut bytes).unwrap(), 4);
}

#[test]
fn a_port_that_is_led_and_that_somebody_has_is_told_of() {
    let Some(outside) = Outside::new() else { return };
    let any = || TcpListener::bind((Ipv4Addr::UNSPECIFIED, 7300)).unwrap();
    let _server = outside.net.inside(any).unwrap();
    let ran = |port: &str| -> Ran {
        let options = ["--delay", "1 ms", "--forward", port, "--", "true"];
        outside.shell(&options).stdin_null().output().unwrap().into()
    };
    let reached = ran("7300");
    assert_eq!(reached.code, 0, "a server at all addresses is reached as it is: {reached:?}");
    let told = "--forward 7300: a server at all addresses has the TCP port; the command reaches it";
    assert!(reached.err.contains(told) && !reached.err.contains("UDP"), "{}", reached.err);
    let free = ran("7301");
    assert_eq!((free.code, free.err.as_str()), (0, ""));

    // Somebody has the base's port before there is a base, and serves no other address.
    let allow = ["sysctl", "-qw", "net.ipv4.ip_nonlocal_bind=1"];
    assert!(outside.command(&allow).status().unwrap().success());
    let base = "100.64.0.1:7302";
    let taken = outside.net.inside(|| TcpListener::bind(base).unwrap()).unwrap();
    ran("7302").refused(2, &["--forward 7302: 100.64.0.1: its TCP port is taken", "in use"]);
    drop(taken);
    let _taken = outside.net.inside(|| UdpSocket::bind(base).unwrap()).unwrap();
    ran("7302").refused(2, &["--forward 7302: 100.64.0.1: its UDP port is taken", "in use"]);
}

#[test]
fn where_namespaces_cannot_be_made_it_says_what_is_needed() {
    let Some(outside) = Outside::new() else { return };
    // In a user namespace that may have no more of them, and with no capability in it.
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all \
         --bounding-set=-all {TIDEGATE} shell -- true"
    );
    let mut command =
        outside.command(&["unshare", "--user", "--map-root-user", "sh", "-c", &script]);
    let ran: Ran = command.stdin(Stdio::null()).output().unwrap().into();
    ran.refused(2, &["cannot make a network", "needs root", "sysctl -w user.max_user_namespaces"]);
}

#[test]
fn a_meter_and_captures_tell_of_both_directions() {
    let Some(outside) = Outside::new() else { return };
    let home = Home::new();
    let options =
        ["--up-rate", "8mbit", "--delay", "1 ms", "--meter", "--record", "a.pcapng", "--"];
    let mut command = outside.shell(&[&options[..], &Shell::WAITS].concat());
    let mut shell = Shell::start(command.current_dir(home.path("")).stderr(Stdio::piped()));
    for _ in 0..20 {
        round_trip(&outside.net, &shell.net, shell.base);
    }
    std::thread::sleep(Duration::from_millis(2500));
    let said = shell.end();
    let last =
        said.lines().find(|line| line.starts_with("up ")).unwrap_or_else(|| panic!("{said}"));
    assert!(last.contains("; down ") && last.contains(" ms in the queue, 0 lost"), "{said}");
    for name in ["a-up.pcapng", "a-down.pcapng"] {
        let ran = home.run(&["replay", name, "--rate", "8mbit", "--queue", "sfb", "--json"]);
        let document = ran.json();
        let flows = document["flows"].as_array().unwrap();
        let offered: u64 = flows.iter().map(|f| f["packets"]["offered"].as_u64().unwrap()).sum();
        assert_eq!(offered, 20, "{name}: {document}");
    }
}

#[test]
fn what_holds_for_one_direction_leaves_the_other_alone() {
    let Some(outside) = Outside::new() else { return };
    let home = Home::new();
    home.write("late.trace", "40\n");
    let trace = home.path("late.trace");
    let trace = trace.to_str().unwrap();
    let shell =
        |options: &[&str]| Shell::start(outside.shell(&[options, &["--"], &Shell::WAITS].concat()));
    // A packet may leave every 40 ms, and each round trip waits for its own.
    for way in ["--up-trace", "--down-trace"] {
        let shell = shell(&[way, trace]);
        let begun = Instant::now();
        (0..10).for_each(|_| _ = round_trip(&outside.net, &shell.net, shell.base));
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(320), "{way}: {took:?}");
    }
    // Of two packets of 1028 bytes the second waits 103 ms for the first at 80 kbit/s. How long two
    // questions took, and then two answers.
    let ask = |shell: &Shell, len: usize| {
        let [server, client] =
            [&outside.net, &shell.net].map(|net| socket(net, Duration::from_secs(2)));
        let (begun, mut bytes) = (Instant::now(), [0; 1500]);
        let twice = |socket: &UdpSocket, to| {
            (0..2).for_each(|_| _ = socket.send_to(&vec![0; len], to).unwrap());
        };
        twice(&client, (shell.base, server.local_addr().unwrap().port()).into());
        server.recv_from(&mut bytes).ok()?;
        let (_, who) = server.recv_from(&mut bytes).ok()?;
        let there = begun.elapsed();
        twice(&server, who);
        client.recv(&mut bytes).ok()?;
        client.recv(&mut bytes).ok()?;
        Some((there, begun.elapsed() - there))
    };
    let slow = Duration::from_millis(100);
    let (up, down) = ask(&shell(&["--down-rate", "80kbit", "--down-limit", "9 kB"]), 1000).unwrap();
    assert!(up < slow && down >= slow, "{up:?} {down:?}");
    let (up, down) = ask(&shell(&["--up-rate", "80kbit", "--up-limit", "9 kB"]), 1000).unwrap();
    assert!(up >= slow && down < slow, "{up:?} {down:?}");
    // All is lost, and on the other way nothing is.
    assert_eq!(ask(&shell(&["--loss", "100%"]), 10), None);
    let lossy = shell(&["--down-loss", "100%"]);
    assert_eq!(ask(&lossy, 10), None);
    let [server, client] =
        [&outside.net, &lossy.net].map(|net| socket(net, Duration::from_secs(10)));
    client.send_to(b"up", (lossy.base, server.local_addr().unwrap().port())).unwrap();
    assert_eq!(server.recv(&mut [0; 10]).unwrap(), 2, "the way up is as it was");
}

trait Quiet {
    fn stdin_null(self) -> Command;
}

impl Quiet for Command {
    fn stdin_null(mut self) -> Command {
        self.stdin(Stdio::null());
        self
    }
}
