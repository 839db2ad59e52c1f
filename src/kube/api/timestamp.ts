/** `2026-01-01T00:00:00Z`: a time as the API server writes it, to the second. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
