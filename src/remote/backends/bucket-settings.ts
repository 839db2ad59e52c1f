/** A lifecycle rule by which the store deletes objects. */
export interface LifecycleRule {
  readonly id: string | null;
  /** The prefix of the keys that the rule covers; empty for the whole bucket. */
  readonly prefix: string;
  /**
   * Days after which the store deletes an object; null when a date or another condition decides.
   */
  readonly afterDays: number | null;
}

/** The settings of a bucket. */
export interface BucketFacts {
  /** The region in its cloud's spelling; null when the store does not report it. */
  readonly region: string | null;
  /** The rules that delete objects; null when the credentials may not read them. */
  readonly deletes: readonly LifecycleRule[] | null;
}

/** What a store can do with its bucket, apart from copies; only `probe` calls it. */
export interface BucketSettings {
  readFacts(): Promise<BucketFacts>;
  /** Removes an object that the caller has just made. */
  remove(key: string): Promise<void>;
}
