//! Declaring a payload.

/// Declares a payload: what it is for, its parameters, and the function that runs it.
///
/// Expands to a `Params` struct, an enum for each choice, the descriptor that the harness reads
/// from the ELF file, and the entry that the runtime calls.
///
/// ```text
/// payload! {
///     about: "Sends itself IPIs and waits for each.";
///     number n = 1000, "How many.";
///     choice wait: Wait { Hlt = "hlt", Nop = "nop" } = "hlt", "How it waits.";
///     run: run;
/// }
/// fn run(params: Params) { ... }
/// ```
#[macro_export]
macro_rules! payload {
    (
        about: $about:literal;
        $(number $number:ident = $default:literal, $meaning:literal;)*
        $(choice $choice:ident: $kind:ident {
            $first:ident = $first_word:literal $(, $variant:ident = $word:literal)* $(,)?
        } = $chosen:literal, $choice_meaning:literal;)*
        run: $run:path;
    ) => {
        $(
            #[doc = $choice_meaning]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $kind {
                #[doc = $first_word] $first $(, #[doc = $word] $variant)*
            }

            impl $kind {
                const ALL: &'static [Self] = &[Self::$first $(, Self::$variant)*];
            }
        )*

        /// The scenario's parameters.
        pub struct Params {
            $(#[doc = $meaning] pub $number: u64,)*
            $(#[doc = $choice_meaning] pub $choice: $kind,)*
        }

        impl Params {
            fn read(page: &$crate::BootPage) -> Self {
                let mut values = page.params.iter().copied();
                let mut next = || values.next().unwrap_or(0);
                Self {
                    $($number: next(),)*
                    $($choice: $kind::ALL[next() as usize % $kind::ALL.len()],)*
                }
            }
        }

        const DESCRIPTOR: &str = concat!(
            "about ", $about, "\n",
            $("param ", stringify!($number), " number ", $default, " ", $meaning, "\n",)*
            $("param ", stringify!($choice), " choice ", $first_word, $("|", $word,)* " ", $chosen, " ",
                $choice_meaning, "\n",)*
        );

        $crate::payload_entry!(DESCRIPTOR, $run);
    };
}

/// The part of [`payload!`] that needs attributes with safety conditions.
#[doc(hidden)]
#[macro_export]
macro_rules! payload_entry {
    ($descriptor:ident, $run:path) => {
        #[expect(unsafe_code, reason = "the linker finds both by name")]
        const _: () = {
            // SAFETY: the section is read from the file only.
            #[used]
            #[unsafe(link_section = ".trapline.descriptor")]
            static TEXT: [u8; $descriptor.len()] = {
                let mut bytes = [0; $descriptor.len()];
                bytes.copy_from_slice($descriptor.as_bytes());
                bytes
            };

            // SAFETY: the runtime declares it with this signature, and there is one payload an ELF.
            #[unsafe(no_mangle)]
            extern "Rust" fn trapline_payload(page: &$crate::BootPage) {
                $run(Params::read(page));
            }
        };
    };
}
