import { HoldfastError } from '../../../core/errors.ts';
import { type Parsed, parsed, refused } from '../../../core/parsed.ts';

/** The variable for an address that no list of processes should show. */
const VARIABLE = 'HOLDFAST_NOTIFY';

/** Reads the address for notifications. A refusal does not repeat it: it may hold a secret. */
export function parseNotify(text: string): Parsed<URL> {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return refused('the address is no URL that begins with https:// or http://');
  if (url.username !== '' || url.password !== '') return refused('the address holds a user or a password, which is not supported');
  return parsed(url);
}

/** The address of the option, or else of the environment; null: no notifications. */
export function notifyAddress(option: URL | null, env: Readonly<Record<string, string | undefined>>): URL | null {
  const text = (env[VARIABLE] ?? '').trim();
  if (option !== null || text === '') return option;
  const address = parseNotify(text);
  if (address.ok) return address.value;
  throw new HoldfastError('SETTING_INVALID', {
    message: `${VARIABLE}: ${address.reason}`,
    hint: 'Give the whole address of the webhook, such as https://hooks.slack.com/services/…, or unset the variable.',
  });
}
