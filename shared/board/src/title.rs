//! How a task says by its title alone that it is a distress card.

/// How the title of a card begins.
pub const PREFIX: &str = "[BLOCKED]";

/// Whether a task is a distress card by its title. Such a task never gets a card itself.
pub fn is_card_title(title: &str) -> bool {
    title.trim_start().get(..PREFIX.len()).is_some_and(|p| p.eq_ignore_ascii_case(PREFIX))
}
