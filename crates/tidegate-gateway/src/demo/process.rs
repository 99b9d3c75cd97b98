//! A process that is heard, and that does not outlive us.
use std::io::{self, Read};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::machine::named::named;
use crate::machine::namespaces::Namespace;
use crate::machine::system::spawn_apart;

/// How much is kept of what a process says, in bytes.
const HEARD: usize = 64 << 10;

/// A process that is ended when this is dropped, or when the thread that began it ends. It has a
/// session of its own: a Ctrl-C at the terminal is for us, who end it in our own order.
#[derive(Debug)]
pub struct Process {
    child: Child,
    out: OutputListener,
    err: OutputListener,
}

impl Process {
    /// Starts `program` in `namespace`; what it says is kept.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(namespace: &Namespace, program: &[&str]) -> io::Result<Process> {
        let tied = [&["setpriv", "--pdeathsig", "KILL"], program].concat();
        let mut command = namespace.command(&tied);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = spawn_apart(&mut command).map_err(named(program[0]))?;
        let (out, err) = (
            OutputListener::start(child.stdout.take())?,
            OutputListener::start(child.stderr.take())?,
        );
        Ok(Process { child, out, err })
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Memory that it has for itself alone, in bytes.
    ///
    /// # Errors
    /// It has ended.
    pub fn memory(&self) -> io::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()))?;
        let line =
            status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or_default();
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().map_err(io::Error::other)?;
        Ok(kib * 1024)
    }

    /// What it has said on standard error so far.
    pub fn said(&self) -> String {
        self.err.so_far()
    }

    /// What it said, if it has ended.
    ///
    /// # Errors
    /// The process could not be polled.
    pub fn ended(&mut self) -> io::Result<Option<String>> {
        let Some(status) = self.child.try_wait()? else { return Ok(None) };
        let said = Some(self.err.all())
            .filter(|said| !said.trim().is_empty())
            .unwrap_or_else(|| self.out.all());
        Ok(Some(format!("{status}: {}", said.trim())))
    }

    /// Asks it to end, as Ctrl-C does, and waits for it; its standard output.
    ///
    /// # Errors
    /// It failed; the error has what it said.
    pub fn finish(&mut self) -> io::Result<String> {
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        // It may have ended by itself.
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT);
        match self.child.wait()? {
            status if status.success() => Ok(self.out.all()),
            status => Err(io::Error::other(format!("{status}: {}", self.err.all().trim()))),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads all that a process says, so that it never waits to be heard, and keeps the end of it.
#[derive(Debug, Default)]
struct OutputListener {
    heard: Arc<Mutex<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl OutputListener {
    fn start(from: Option<impl Read + Send + 'static>) -> io::Result<OutputListener> {
        let Some(mut from) = from else { return Ok(OutputListener::default()) };
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = heard.clone();
        let listen = move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&piece[..count]);
                let excess = kept.len().saturating_sub(HEARD);
                kept.drain(..excess);
            }
        };
        let thread = std::thread::Builder::new().name("listener".into()).spawn(listen)?;
        Ok(OutputListener { heard, thread: Some(thread) })
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().unwrap_or_else(PoisonError::into_inner))
            .into_owned()
    }

    /// Everything, once the process has ended.
    fn all(&mut self) -> String {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.so_far()
    }
}
