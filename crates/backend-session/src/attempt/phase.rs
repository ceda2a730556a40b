//! The phases of an attempt, as a pure machine.
//!
//! begun, planned, claimed, admitted, terminal, sealed, ready. The first four
//! may be skipped towards the end, never backwards: an attempt can end from any
//! of them, and from then on the path to `Ready` is the same for all.

/// How far an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It holds an observation permit.
    Begun,
    /// Its owner said that planning starts.
    Planned,
    /// A request consumed its claim.
    Claimed,
    /// It has a grant.
    Admitted,
    /// Its outcome is fixed.
    Terminal,
    /// Its report is sealed.
    Sealed,
    /// Its report can be read.
    Ready,
}

/// What can happen to an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Planning starts.
    Plan,
    /// A request consumes the claim.
    Claim,
    /// A grant is placed.
    Admit,
    /// The outcome is fixed.
    End,
    /// The report is sealed.
    Seal,
    /// The report is published.
    Publish,
}

impl Phase {
    /// Every phase, in order.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 7] = [
        Self::Begun,
        Self::Planned,
        Self::Claimed,
        Self::Admitted,
        Self::Terminal,
        Self::Sealed,
        Self::Ready,
    ];

    /// The phase after `event`; `None` where the event cannot happen.
    pub(crate) fn after(self, event: Event) -> Option<Self> {
        match (self, event) {
            (Self::Begun, Event::Plan) => Some(Self::Planned),
            (Self::Planned, Event::Claim) => Some(Self::Claimed),
            (Self::Claimed, Event::Admit) => Some(Self::Admitted),
            (Self::Begun | Self::Planned | Self::Claimed | Self::Admitted, Event::End) => {
                Some(Self::Terminal)
            }
            (Self::Terminal, Event::Seal) => Some(Self::Sealed),
            (Self::Sealed, Event::Publish) => Some(Self::Ready),
            _ => None,
        }
    }
}

impl Event {
    /// Every event.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 6] = [
        Self::Plan,
        Self::Claim,
        Self::Admit,
        Self::End,
        Self::Seal,
        Self::Publish,
    ];
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
