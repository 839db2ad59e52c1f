import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt } from '../../core/printable.ts';
import { withoutUser } from '../../core/secrets.ts';

/** The services, as people call them. */
export const SERVICES = { gcp: 'Google Cloud', aws: 'AWS', azure: 'Azure' } as const;
/** The name of a metadata service, as `--metadata` takes it. */
export type ServiceId = keyof typeof SERVICES;

const SERVICE_IDS = Object.keys(SERVICES) as ServiceId[];

/** Which metadata services to ask, and where; null: none. */
export type MetadataWish = {
  readonly services: readonly ServiceId[];
  /** The user named the service, so silence from it is worth a warning. */
  readonly isNamed: boolean;
  /** Scheme, host and port. */
  readonly origin: string;
} | null;

/**
 * All three answer at the same link-local address. It is a number, so that no resolver takes part.
 */
const LINK_LOCAL = 'http://169.254.169.254';
const RULE = 'it is auto, off, gcp, aws or azure, and may name an address: gcp=http://127.0.0.1:8080';

/** Reads the value of `--metadata` or HOLDFAST_METADATA. */
export function parseMetadataWish(text: string): Parsed<MetadataWish> {
  const [word = '', ...rest] = text.split('=');
  const address = rest.join('=');
  const services = servicesOf(word);
  if (services === null || (word === 'off' && rest.length > 0))
    return refused(`"${excerpt(withoutUser(text), 60)}" names no metadata service: ${RULE}`);
  if (services.length === 0) return parsed(null);
  const origin = rest.length === 0 ? LINK_LOCAL : originOf(address);
  if (origin === null) return refused(`"${excerpt(withoutUser(address), 60)}" is not the address of a metadata service: ${RULE}`);
  return parsed({ services, isNamed: word !== 'auto', origin });
}

function servicesOf(word: string): readonly ServiceId[] | null {
  if (word === 'off') return [];
  if (word === 'auto') return SERVICE_IDS;
  const named = SERVICE_IDS.filter((id) => id === word);
  return named.length === 0 ? null : named;
}

/** Accepts plain HTTP and an address alone, because these services have no other form. */
function originOf(address: string): string | null {
  const url = URL.parse(address);
  if (url === null || url.protocol !== 'http:' || url.username !== '' || url.pathname !== '/' || url.search !== '') return null;
  return url.origin;
}
