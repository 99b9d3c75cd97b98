//! The view that goes on: a terminal taken over, and given back however it ends.
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};

use super::feed;
use super::model::{Action, Model};
use super::view;
use crate::failure::Failure;
use crate::interrupt;

/// How long a key, an update or a signal may wait to be heeded.
const LOOK: Duration = Duration::from_millis(100);

/// Shows the gate that listens at `socket` until somebody has seen enough.
///
/// # Errors
/// There is no terminal, or no longer one; or a signal came.
pub fn show(socket: &Path) -> Result<(), Failure> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(Failure::input("this wants a terminal; --once prints a table instead"));
    }
    // A signal only asks; the terminal is given back below.
    interrupt::listen_and_tidy();
    let updates = feed::follow(socket)?;
    let mut model = Model::of(socket);
    let mut screen = Screen::open().map_err(Failure::runtime)?;
    let mut stale = true;
    while !interrupt::asked() {
        for updates in updates.try_iter() {
            model.hear(updates);
            stale = true;
        }
        if stale {
            screen.0.draw(|frame| view::draw(frame, &model)).map_err(Failure::runtime)?;
            stale = false;
        }
        if event::poll(LOOK).map_err(Failure::runtime)? {
            stale = true;
            if let Event::Key(key) = event::read().map_err(Failure::runtime)?
                && model.press(key) == Action::Leave
            {
                return Ok(());
            }
        }
    }
    drop(screen);
    Err(Failure::Stopped("stopped by a signal".into()))
}

/// The terminal, in our hands. If we panic, the hook that opening it sets gives it back before
/// anything is said.
struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> io::Result<Screen> {
        // What fails in the midst of it has changed something already.
        ratatui::try_init().map(Screen).inspect_err(|_| give_back())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.0.show_cursor();
        give_back();
    }
}

/// As it was before; nobody is left to tell if that fails.
fn give_back() {
    let _ = ratatui::try_restore();
}
