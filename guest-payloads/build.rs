//! Links the payloads.

#[path = "../hv-core/link.rs"]
mod link;

fn main() {
    link::freestanding("payload.ld");
}
