/** What a supervised run shall have, where the manifest does not say it. */
export interface AdoptWishes {
  /** The folder of the run in the container; null: from the manifest, else below /runs. */
  readonly dir: string | null;
  /** The claim to keep runs on, where the manifest mounts none for checkpoints. */
  readonly claim: string | null;
  readonly graceSeconds: number | null;
  /** Where copies go, or null. */
  readonly ship: string | null;
}
