//! What is shown: the last snapshot, what happened in the second before it, and how it went before
//! that.
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tidegate_gateway::watch::rates::{self, Both, FrameRate};
use tidegate_gateway::watch::snapshot::{LinkSnapshot, Snapshot};

use super::feed::Update;

/// How many seconds are remembered.
const REMEMBERED: usize = 600;

/// What somebody wants who pressed a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// To see more.
    Stay,
    /// Enough.
    Leave,
}

/// What one direction received and sent in each of the last seconds, in bit/s, the last one at the
/// end.
pub type PastRates = VecDeque<[u64; 2]>;

/// A gate, as far as it has been heard of.
#[derive(Clone, Debug)]
pub struct Model {
    /// Why nothing is heard now.
    pub gone: Option<String>,
    /// What was heard last.
    pub last: Option<Snapshot>,
    /// What happened in the second before that, for each link.
    rates: Vec<Option<Both>>,
    /// The past of both directions, by the link's name.
    past: BTreeMap<String, [PastRates; 2]>,
    /// The link that is shown.
    chosen: usize,
}

impl Model {
    /// One that waits for a gate at `socket`.
    pub fn of(socket: &Path) -> Model {
        let gone = Some(format!("waiting for a gate at {}", socket.display()));
        Model { gone, last: None, rates: vec![], past: BTreeMap::new(), chosen: 0 }
    }

    /// Takes in what is heard.
    pub fn hear(&mut self, updates: Update) {
        match updates {
            Update::Gone(why) => self.gone = Some(why),
            Update::Snapshot(snapshot) => self.see(*snapshot),
        }
    }

    fn see(&mut self, snapshot: Snapshot) {
        self.gone = None;
        self.rates = match &self.last {
            Some(last) => rates::between(last, &snapshot),
            None => vec![],
        };
        if self.last.as_ref().is_none_or(|last| !rates::same_run(last, &snapshot)) {
            self.past.clear();
        }
        // The link that was looked at is looked at still, wherever it stands now.
        let name = self.link().map(|link| link.name.clone());
        self.chosen =
            snapshot.links.iter().position(|link| Some(&link.name) == name.as_ref()).unwrap_or(0);
        for (link, rates) in snapshot.links.iter().zip(&self.rates) {
            let Some(rates) = rates else { continue };
            let past = self.past.entry(link.name.clone()).or_default();
            for (past, rates) in past.iter_mut().zip(rates) {
                let whole = |rate: FrameRate| rate.bps.round() as u64;
                past.push_back([whole(rates.received), whole(rates.sent)]);
                past.drain(..past.len().saturating_sub(REMEMBERED));
            }
        }
        self.last = Some(snapshot);
    }

    /// Heeds a key.
    pub fn press(&mut self, key: KeyEvent) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::Stay;
        }
        let links = self.last.as_ref().map_or(1, |last| last.links.len().max(1));
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Action::Leave,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Action::Leave;
            }
            KeyCode::Tab | KeyCode::Right | KeyCode::Down => {
                self.chosen = (self.chosen + 1) % links
            }
            KeyCode::BackTab | KeyCode::Left | KeyCode::Up => {
                self.chosen = (self.chosen + links - 1) % links
            }
            _ => {}
        }
        Action::Stay
    }

    /// Which link is shown.
    pub fn chosen(&self) -> usize {
        self.chosen
    }

    /// The link that is shown.
    pub fn link(&self) -> Option<&LinkSnapshot> {
        self.last.as_ref()?.links.get(self.chosen)
    }

    /// What happened on it in the last second, if that is known.
    pub fn rates(&self) -> Option<&Both> {
        self.rates.get(self.chosen)?.as_ref()
    }

    /// How both of its directions went.
    pub fn past(&self) -> Option<&[PastRates; 2]> {
        self.past.get(&self.link()?.name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{flooded, gate, grow};
    use super::*;

    fn model() -> Model {
        Model::of(Path::new("/run/gate.sock"))
    }

    fn see(model: &mut Model, snapshot: &Snapshot) {
        model.hear(Update::Snapshot(Box::new(snapshot.clone())));
    }

    fn press(model: &mut Model, code: KeyCode) -> &str {
        assert_eq!(model.press(KeyEvent::new(code, KeyModifiers::NONE)), Action::Stay);
        &model.link().unwrap().name
    }

    #[test]
    fn the_past_grows_second_by_second_and_ends_with_the_gate() {
        let mut model = model();
        let (first, second) = (gate(), flooded(&gate()));
        see(&mut model, &first);
        assert!(model.rates().is_none() && model.past().is_none());
        see(&mut model, &second);
        assert_eq!(model.past().unwrap()[0], [[398_400_000, 99_720_000]]);
        see(&mut model, &grow(&second, 1.0));
        assert_eq!(model.past().unwrap()[0], [[398_400_000, 99_720_000], [0, 0]]);
        // It is the same gate that is heard again.
        model.hear(Update::Gone("silent".into()));
        see(&mut model, &grow(&second, 2.0));
        assert_eq!((&model.gone, model.past().unwrap()[0].len()), (&None, 3));
        let mut other = grow(&second, 3.0);
        other.uptime_s = 1.0;
        see(&mut model, &other);
        assert!(model.rates().is_none() && model.past().is_none());
    }

    #[test]
    fn no_more_is_remembered_than_can_be_shown() {
        let mut model = model();
        let mut gate = gate();
        for _ in 0..REMEMBERED + 50 {
            see(&mut model, &gate);
            gate = grow(&gate, 1.0);
        }
        assert_eq!(model.past().unwrap()[1].len(), REMEMBERED);
    }

    #[test]
    fn keys_go_round_the_links_and_a_reload_does_not_change_which_is_shown() {
        let mut model = model();
        assert_eq!(model.press(KeyCode::Tab.into()), Action::Stay, "there is none yet");
        see(&mut model, &gate());
        assert_eq!(model.link().unwrap().name, "west");
        assert_eq!(press(&mut model, KeyCode::Tab), "lab");
        assert_eq!(press(&mut model, KeyCode::Right), "west");
        assert_eq!(press(&mut model, KeyCode::Left), "lab");
        assert_eq!(press(&mut model, KeyCode::Char('x')), "lab");
        let mut turned = grow(&gate(), 1.0);
        turned.links.reverse();
        see(&mut model, &turned);
        assert_eq!((model.link().unwrap().name.as_str(), model.chosen()), ("lab", 0));
        turned.links.remove(0);
        see(&mut model, &turned);
        assert_eq!(model.link().unwrap().name, "west", "it is gone");
    }

    #[test]
    fn whoever_has_seen_enough_may_leave() {
        let mut model = model();
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        for key in [KeyCode::Char('q').into(), KeyCode::Esc.into(), control] {
            assert_eq!(model.press(key), Action::Leave, "{key:?}");
        }
        assert_eq!(model.press(KeyCode::Char('c').into()), Action::Stay);
    }
}
