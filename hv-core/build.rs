//! Links the image.

mod link;

fn main() {
    link::freestanding("image.ld");
}
