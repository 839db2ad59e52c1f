import { readFileSync } from 'node:fs';

/**
 * The version of this installation. `package.json` lies three folders up, from `src/cli/frame` and
 * from `dist/cli/frame` alike.
 */
export function version(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string };
  return manifest.version;
}
