//! Patterns in which `*` stands for any text and `?` for one character; everything else is itself.

/// Whether the whole text fits the pattern.
///
/// Works on characters and needs no memory. A `*` never has to be tried again once a later `*` was
/// reached, so the time is at most the text times the longest piece between two stars: linear in a
/// text that someone else chose, for patterns that the user wrote.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // Where to go on when the present way fails: behind the last star, one character further.
    let mut retry = None;
    loop {
        let text_here = text.clone();
        match (pattern.next(), text.next()) {
            (Some('*'), _) => {
                text = text_here;
                retry = Some((pattern.clone(), text.clone()));
            }
            (Some('?'), Some(_)) => {}
            (Some(wanted), Some(found)) if wanted == found => {}
            (None, None) => return true,
            _ => {
                let Some((behind_star, mut later)) = retry.take() else { return false };
                if later.next().is_none() {
                    return false;
                }
                (pattern, text) = (behind_star.clone(), later.clone());
                retry = Some((behind_star, later));
            }
        }
    }
}
