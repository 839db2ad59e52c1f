import { getAsset } from 'node:sea';

/** In place of cli/version.ts. */
export function version(): string {
  return getAsset('version', 'utf8');
}
