import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt } from '../../core/printable.ts';
import { withoutUser } from '../../core/secrets.ts';
import { pathProblem } from '../../seal/relative-path.ts';

/** The address of copies, as the user writes it. */
export type Location =
  | { readonly kind: 's3' | 'gs'; readonly url: string; readonly bucket: string; readonly prefix: string }
  | { readonly kind: 'file'; readonly url: string; readonly path: string };

const RULE = 'an address is s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:///FOLDER';

/** Reads an address. It must name a bucket; keys below it must be plain paths. */
export function parseLocation(text: string): Parsed<Location> {
  const match = /^([a-z0-9]+):\/\/([^/]*)(\/.*)?$/.exec(text);
  if (match === null) return refused(`"${excerpt(withoutUser(text))}" is not an address: ${RULE}`);
  const [, scheme = '', host = '', rest = ''] = match;
  const trimmed = rest.replace(/^\/+|\/+$/g, '');
  if (scheme === 'file') return fileLocation(host, trimmed);
  if (scheme !== 's3' && scheme !== 'gs') return refused(`"${excerpt(scheme, 20)}" is not a kind of store: ${RULE}`);
  if (host.includes('@')) return refused('credentials do not belong into an address: they would end up in logs');
  if (!/^[a-zA-Z0-9][a-zA-Z0-9._-]{1,221}$/.test(host)) return refused(`"${excerpt(host, 60)}" is not the name of a bucket`);
  const problem = trimmed === '' ? null : pathProblem(trimmed);
  if (problem !== null) return refused(`the prefix "${excerpt(trimmed)}" ${problem}`);
  return parsed({ kind: scheme, url: `${scheme}://${host}${trimmed === '' ? '' : `/${trimmed}`}`, bucket: host, prefix: trimmed });
}

function fileLocation(host: string, rest: string): Parsed<Location> {
  if (host !== '') return refused(`file://${excerpt(host, 40)} names a machine; a folder is written with three slashes: file:///FOLDER`);
  let path: string;
  try {
    path = `/${decodeURIComponent(rest)}`;
  } catch {
    return refused(`"${excerpt(rest)}" has a % that begins no character`);
  }
  const problem = path === '/' ? 'is the root of the file system' : pathProblem(path.slice(1));
  return problem === null ? parsed({ kind: 'file', url: `file://${path}`, path }) : refused(`the folder "${excerpt(path)}" ${problem}`);
}
