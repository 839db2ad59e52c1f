/** The scheme, host and port of a server. */
export interface Origin {
  readonly protocol: 'http:' | 'https:';
  readonly host: string;
  readonly port: number;
}

/** Reads the origin of an http or https address; null for anything else. */
export function parseOrigin(text: string): Origin | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { protocol: url.protocol, host: url.hostname.replace(/^\[|\]$/g, ''), port };
}

/** `host` or `host:port` for the Host header, without the default port. */
export function hostHeader({ protocol, host, port }: Origin): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === (protocol === 'https:' ? 443 : 80) ? name : `${name}:${port}`;
}
