/** When a job is past its `activeDeadlineSeconds`, in milliseconds since 1970; null: never. */
export function activeDeadlineMs(startMs: number | null, seconds: number | null): number | null {
  return startMs === null || seconds === null ? null : startMs + seconds * 1000;
}
