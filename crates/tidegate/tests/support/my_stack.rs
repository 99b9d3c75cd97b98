//! A transport of few lines: a window of ten datagrams, a timer, and an answer to each.
use tidegate::{Span, Time};

const WINDOW: usize = 10;

#[derive(Default)]
pub struct Stack {
    todo: Vec<u16>,
    under_way: Vec<(u16, Time)>,
    answers: Vec<u16>,
}

impl Stack {
    pub fn client(datagrams: u16) -> Stack {
        Stack { todo: (0..datagrams).collect(), ..Stack::default() }
    }

    pub fn server() -> Stack {
        Stack::default()
    }

    pub fn send(&mut self, now: Time) -> Option<Vec<u8>> {
        if let Some(number) = self.answers.pop() {
            return Some(number.to_be_bytes().to_vec());
        }
        let is_late = |(_, due): &mut (u16, Time)| *due <= now;
        let late = self.under_way.extract_if(.., is_late).map(|(number, _)| number);
        self.todo.extend(late);
        if self.under_way.len() == WINDOW {
            return None;
        }
        let number = self.todo.pop()?;
        self.under_way.push((number, now + Span::from_millis(300)));
        let mut datagram = vec![0; 1200];
        datagram[..2].copy_from_slice(&number.to_be_bytes());
        Some(datagram)
    }

    pub fn receive(&mut self, _: Time, datagram: Vec<u8>) {
        let number = u16::from_be_bytes([datagram[0], datagram[1]]);
        if datagram.len() > 2 {
            self.answers.push(number);
        } else {
            self.under_way.retain(|&(known, _)| known != number);
        }
    }

    pub fn timer(&self) -> Option<Time> {
        self.under_way.iter().map(|&(_, due)| due).min()
    }

    pub fn is_done(&self) -> bool {
        self.todo.is_empty() && self.under_way.is_empty()
    }
}
