import type { Agent } from 'node:http';
import type { AgentOptions, RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import * as tls from 'node:tls';
import { HoldfastError } from '../../core/errors.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { printable } from '../../core/printable.ts';
import { readRegularFile, whyUnreadable } from '../../core/read-regular.ts';
import { hostHeader, type Origin, parseOrigin } from './origin.ts';
import { RangeThreads } from './ranges/threads.ts';
import { http, https } from './runtime-http.ts';

/** Environment variables. */
export type Env = Readonly<Record<string, string | undefined>>;

/** The proxy on the way to a host. */
export interface Proxy extends Origin {
  /** `Basic …`; null when the proxy's address names no user. */
  readonly authorization: string | null;
}

/** How requests reach a host. */
export interface Route {
  readonly agent: Agent;
  /** Set when a plain request must send the whole address to a proxy. */
  readonly proxy: Proxy | null;
  /** Whether no proxy is in between. */
  readonly isDirect: boolean;
}

/** Keeps connections for later requests, by destination. */
export interface Routes {
  to(origin: Origin): Route;
  /** Receives large answers from hosts without a proxy in between. */
  readonly ranges: RangeThreads;
  close(): void;
}

/**
 * The proxy that the environment sets, by the rules of curl. Lower case wins, and `NO_PROXY` is a
 * list of names, suffixes or `*`.
 */
export function proxyFor(origin: Origin, env: Env): Proxy | null {
  const name = origin.protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const value = env[name] ?? env[name.toUpperCase()] ?? env['all_proxy'] ?? env['ALL_PROXY'] ?? '';
  if (value === '' || isExempt(origin, env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return null;
  const address = value.includes('://') ? value : `http://${value}`;
  const proxy = parseOrigin(address);
  if (proxy === null) {
    throw new HoldfastError('SETTING_INVALID', {
      message: `${name.toUpperCase()} is not the address of an http or https proxy`,
      hint: 'It looks like http://proxy.example:3128. SOCKS proxies are not supported.',
    });
  }
  const { username, password } = new URL(address);
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { ...proxy, authorization: username === '' ? null : `Basic ${Buffer.from(user).toString('base64')}` };
}

/** Only the machine itself can reach its own services. */
const NEVER_PROXIED = /^(169\.254\.|127\.|localhost$|::1$|metadata\.google\.internal$)/;

function isExempt({ host, port }: Origin, list: string): boolean {
  if (NEVER_PROXIED.test(host)) return true;
  return list.split(',').some((entry) => {
    const [name = '', only] = entry.trim().toLowerCase().split(':');
    if (name === '') return false;
    if (only !== undefined && only !== String(port)) return false;
    const suffix = name.replace(/^\*?\./, '');
    return name === '*' || host.toLowerCase() === suffix || host.toLowerCase().endsWith(`.${suffix}`);
  });
}

/**
 * Reads the extra certificates that AWS_CA_BUNDLE names. The runtime itself handles
 * NODE_EXTRA_CA_CERTS.
 */
function extraCertificates(env: Env): readonly string[] | null {
  const file = env['AWS_CA_BUNDLE'] ?? '';
  if (file === '') return null;
  try {
    return [...tls.getCACertificates('default'), readRegularFile(file, LIMITS.settingsBytes).toString('utf8')];
  } catch (thrown) {
    throw new HoldfastError('SETTING_INVALID', {
      message: `AWS_CA_BUNDLE names ${printable(file)}, which cannot be read: ${whyUnreadable(thrown)}`,
      hint: 'It must name a file with certificates in PEM form, or be unset.',
      cause: thrown,
    });
  }
}

/**
 * The most connections to one host: more than there are transfers, so that small requests never
 * wait.
 */
const MAX_SOCKETS = 64;

/** Makes the routes that the environment asks for. */
export function createRoutes(env: Env, ranges = new RangeThreads()): Routes {
  const made = new Map<string, Route>();
  const ca = extraCertificates(env);
  const make = (origin: Origin): Route => {
    const proxy = proxyFor(origin, env);
    const options = { keepAlive: true, maxSockets: MAX_SOCKETS, noDelay: true };
    const isDirect = proxy === null;
    if (origin.protocol === 'http:') return { agent: new http.Agent(options), proxy, isDirect };
    const secure = { ...options, ...(ca === null ? {} : { ca: [...ca] }) };
    return { agent: proxy === null ? new https.Agent(secure) : new TunnelAgent(proxy, secure), proxy: null, isDirect };
  };
  ranges.trust(ca);
  return {
    ranges,
    to(origin) {
      const key = `${origin.protocol}//${hostHeader(origin)}`;
      const route = made.get(key) ?? make(origin);
      made.set(key, route);
      return route;
    },
    close() {
      for (const { agent } of made.values()) agent.destroy();
      made.clear();
      ranges.close();
    },
  };
}

type Connected = (error: Error | null, stream: Duplex) => void;

/** Reaches an https server through a proxy's CONNECT; the proxy sees only the host name. */
class TunnelAgent extends https.Agent {
  readonly #proxy: Proxy;

  constructor(proxy: Proxy, options: AgentOptions) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(options: RequestOptions, callback?: Connected): Duplex | null | undefined {
    const { protocol, host, port, authorization } = this.#proxy;
    const target = `${options.host ?? ''}:${options.port ?? 443}`;
    const fail = (error: Error): void => callback?.(error, undefined as unknown as Duplex);
    const request = (protocol === 'https:' ? https : http).request({
      host,
      port,
      method: 'CONNECT',
      path: target,
      agent: false,
      // An https proxy may have its certificate from the same authority.
      ...(protocol === 'https:' && options.ca !== undefined ? { ca: options.ca } : {}),
      headers: { host: target, ...(authorization === null ? {} : { 'proxy-authorization': authorization }) },
    });
    request.setTimeout(30_000, () => request.destroy(Object.assign(new Error('the proxy does not answer'), { code: 'ETIMEDOUT' })));
    request.once('connect', (response, socket) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        fail(Object.assign(new Error(`the proxy answered ${response.statusCode ?? 0}`), { code: 'PROXY_REFUSED' }));
        return;
      }
      const secure = tls.connect({ ...(options as tls.ConnectionOptions), socket });
      secure.once('error', fail);
      secure.once('secureConnect', () => {
        secure.off('error', fail);
        callback?.(null, secure);
      });
    });
    request.once('error', fail);
    request.end();
    return undefined;
  }
}
