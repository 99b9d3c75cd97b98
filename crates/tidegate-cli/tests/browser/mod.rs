//! A headless Chromium that a test drives as a person would: over the two pipes of Chromium's
//! DevTools protocol, so that no driver and no port is needed.
//!
//! Needs Chromium (`apt-get install chromium`; `make test` does that). Without it tests fail,
//! unless `TIDEGATE_SKIP_BROWSER=1` is set.
#![allow(dead_code, reason = "each test file uses its part")]
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// One browser at a time: each takes a core and some 200 MB. It waits for the next page here, since
/// its start takes seconds.
static IDLE: Mutex<Option<Browser>> = Mutex::new(None);

/// The protocol's pipes are the file descriptors 3 and 4. A browser that hangs is ended. It ends
/// when its pipe does, and what it kept goes with it.
const START: &str = r#"
    profile=$1
    shift
    timeout 900 "$@" "--user-data-dir=$profile" 3<&0 4>&1 0</dev/null 1>&2
    rm -rf -- "$profile"
"#;

/// A browser that listens.
struct Browser {
    shell: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: u64,
}

/// A page in a browser, which has nothing of what earlier pages left there.
pub struct Page {
    /// Always there, but while it is given back.
    browser: Option<Browser>,
    /// The place in the browser that is this page's alone.
    context: Value,
    session: Value,
    /// What went wrong in the page.
    faults: Vec<String>,
    /// Where downloads go.
    pub downloads: TempDir,
    /// Whether the next page may have the browser: not if it is in a network of its own.
    shared: bool,
    /// Where it is left then. Nobody else has a page meanwhile.
    idle: MutexGuard<'static, Option<Browser>>,
}

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path)
        .flat_map(|dir| names.map(|name| dir.join(name)))
        .find(|program| program.is_file());
    let skip = std::env::var("TIDEGATE_SKIP_BROWSER").is_ok_and(|v| v == "1");
    assert!(
        found.is_some() || skip,
        "no Chromium: install it (Debian: apt-get install chromium), or set \
         TIDEGATE_SKIP_BROWSER=1 to go without"
    );
    found.filter(|_| !skip)
}

impl Browser {
    /// Begun by a shell, which `command` begins.
    fn start(program: &Path, command: impl FnOnce(&str) -> Command) -> Browser {
        let profile = TempDir::new().unwrap().keep();
        let mut shell = command("sh")
            .args(["-c", START, "sh"])
            .args([&profile, program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--no-first-run", "--remote-debugging-pipe"])
            .args(["--window-size=1366,900", "about:blank"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let (to, from) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        Browser { shell, to, from: BufReader::new(from), calls: 0 }
    }

    fn say(&mut self, call: &Value) {
        self.to.write_all(format!("{call}\0").as_bytes()).expect("the browser listens");
    }

    fn hear(&mut self, during: &str) -> Value {
        let mut text = vec![];
        self.from.read_until(0, &mut text).expect("the browser speaks");
        assert!(text.pop() == Some(0), "the browser ended during {during}");
        serde_json::from_slice(&text).unwrap()
    }

    fn end(mut self) {
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.shell.wait();
    }
}

impl Page {
    /// An empty page; `None` if there is to be no browser.
    pub fn open() -> Option<Page> {
        Page::of(true, |shell| Command::new(shell))
    }

    /// The same of a browser that a shell starts, which `command` begins: in a network of its own.
    pub fn open_by(command: impl FnOnce(&str) -> Command) -> Option<Page> {
        Page::of(false, command)
    }

    fn of(shared: bool, command: impl FnOnce(&str) -> Command) -> Option<Page> {
        let program = chromium()?;
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = if shared { idle.take() } else { None };
        let browser = waiting.unwrap_or_else(|| Browser::start(&program, command));
        let mut page = Page {
            browser: Some(browser),
            context: Value::Null,
            session: Value::Null,
            faults: vec![],
            downloads: TempDir::new().unwrap(),
            shared,
            idle,
        };
        page.attach();
        Some(page)
    }

    fn attach(&mut self) {
        let to = self.downloads.path().display().to_string();
        let context = self.call("Target.createBrowserContext", json!({}));
        self.context = context["browserContextId"].clone();
        let mut place = json!({ "browserContextId": self.context });
        place["url"] = "about:blank".into();
        let target = self.call("Target.createTarget", place);
        let mut allow = json!({ "behavior": "allow", "downloadPath": to });
        allow["browserContextId"] = self.context.clone();
        self.call("Browser.setDownloadBehavior", allow);
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        self.session = self.call("Target.attachToTarget", attach)["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Has the browser do something; what it says of it.
    fn call(&mut self, method: &str, params: Value) -> Value {
        let browser = self.browser.as_mut().expect("the page has a browser");
        browser.calls += 1;
        let id = browser.calls;
        let mut call = json!({ "id": id, "method": method, "params": params });
        if !self.session.is_null() {
            call["sessionId"] = self.session.clone();
        }
        browser.say(&call);
        loop {
            let said = self.browser.as_mut().expect("the page has a browser").hear(method);
            if said["id"] == id {
                assert!(said["error"].is_null(), "{method}: {}", said["error"]);
                return said["result"].clone();
            }
            self.hear(&said);
        }
    }

    /// Remembers failures that the browser reports on its own.
    fn hear(&mut self, said: &Value) {
        match said["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.faults.push(said["params"].to_string()),
            Some("Log.entryAdded") if said["params"]["entry"]["level"] == "error" => {
                self.faults.push(said["params"]["entry"].to_string());
            }
            _ => {}
        }
    }

    /// Opens `url`, which begins with nothing of what was shown before.
    pub fn load(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.call("Page.navigate", json!({ "url": url }));
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// The value of an expression in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let of = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let said = self.call("Runtime.evaluate", of);
        assert!(said["exceptionDetails"].is_null(), "{expression}: {}", said["exceptionDetails"]);
        said["result"]["value"].clone()
    }

    /// Waits until `condition` holds in the page.
    pub fn wait(&mut self, condition: &str) {
        for _ in 0..600 {
            if self.eval(&format!("Boolean({condition})")) == true {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let shown = self.eval("document.body.innerText");
        panic!("never: {condition}; {:?}; {shown}", self.faults);
    }

    /// The text of the first element that `selector` finds.
    pub fn text(&mut self, selector: &str) -> String {
        let element = format!("document.querySelector({selector:?})");
        self.eval(&format!("{element}.textContent")).as_str().expect(selector).into()
    }

    /// Where the middle of an element is, once it is in sight.
    fn middle(&mut self, selector: &str) -> (f64, f64, f64) {
        let place = self.eval(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); \
             e.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const b = e.getBoundingClientRect(); \
             return [b.x + b.width / 2, b.y + b.height / 2, b.width]; }})()"
        ));
        let [x, y, width] = [0, 1, 2].map(|i| place[i].as_f64().expect(selector));
        (x, y, width)
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let held = u8::from(kind != "mouseReleased");
        let mut event = json!({ "type": kind, "x": x, "y": y, "clickCount": 1 });
        event["button"] = "left".into();
        event["buttons"] = held.into();
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Clicks an element.
    pub fn click(&mut self, selector: &str) {
        let (x, y, _) = self.middle(selector);
        self.mouse("mousePressed", x, y);
        self.mouse("mouseReleased", x, y);
    }

    /// Drags the thumb of a slider from `from` to `to`, parts of its width, in small steps.
    pub fn drag(&mut self, selector: &str, from: f64, to: f64) {
        let (x, y, width) = self.middle(selector);
        // The thumb's own width of 20 pixels is no part of its way.
        let at = |part: f64| x + (part - 0.5) * (width - 20.0);
        self.mouse("mousePressed", at(from), y);
        for step in 1..=20 {
            self.mouse("mouseMoved", at(from + (to - from) * f64::from(step) / 20.0), y);
        }
        self.mouse("mouseReleased", at(to), y);
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Makes the window `width` pixels wide, in the colours of `scheme` (`light`, `dark`).
    pub fn look(&mut self, width: u32, scheme: &str) {
        let size =
            json!({ "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": scheme }));
    }

    /// Shows it as on paper of A4's width.
    pub fn print(&mut self) {
        self.look(794, "light");
        self.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    }

    /// Asserts that nothing went wrong in the page so far.
    pub fn is_well(&mut self) {
        self.eval("0");
        assert!(self.faults.is_empty(), "{:?}", self.faults);
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let well = !std::thread::panicking();
        if well {
            self.session = Value::Null;
            let context = json!({ "browserContextId": self.context });
            self.call("Target.disposeBrowserContext", context);
        }
        let browser = self.browser.take().expect("the page has a browser");
        if well && self.shared {
            *self.idle = Some(browser);
        } else {
            browser.end();
        }
    }
}
