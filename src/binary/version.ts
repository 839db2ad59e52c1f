import { getAsset } from 'node:sea';

/** In place of `cli/frame/version.ts`. */
export function version(): string {
  return getAsset('version', 'utf8');
}
