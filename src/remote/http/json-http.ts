import { isObject, type JsonObject, parseJson } from '../../core/json.ts';
import { isTransientStatus, RequestFailure } from '../transfer/failure.ts';
import type { HttpClient } from './http-client.ts';
import { parseOrigin } from './origin.ts';
import { type Retrying, withRetries } from '../transfer/retry.ts';

/**
 * A request to a service that hands out credentials. Errors never quote its answers, which may hold
 * secrets.
 */
export interface ServiceCall {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The subject of "… does not answer": `the instance's metadata service`. */
  readonly who: string;
  /** The deadline for a service that answers at once or not at all. */
  readonly deadlineMs?: number;
}

/** What a call of a credential service needs. */
export interface Caller extends Retrying {
  readonly http: HttpClient;
}

/** Calls the service and returns the text of a successful answer. */
export async function callService(caller: Caller, call: ServiceCall): Promise<string> {
  const url = URL.canParse(call.url) ? new URL(call.url) : null;
  const origin = parseOrigin(call.url);
  if (url === null || origin === null) throw serviceFailure(call, 0, 'has an invalid address');
  return withRetries(caller, async () => {
    const response = await caller.http.send(
      {
        method: call.method,
        origin,
        path: `${url.pathname}${url.search}`,
        headers: { accept: '*/*', 'user-agent': 'holdfast', ...call.headers },
        ...(call.deadlineMs === undefined ? {} : { deadlineMs: call.deadlineMs }),
        ...(call.body === undefined ? {} : { body: { kind: 'bytes', data: Buffer.from(call.body) } }),
      },
      caller.signal,
    );
    if (response.status === 200) return response.body.toString('utf8');
    throw serviceFailure(call, response.status, `answered ${response.status}${errorWord(response.body.toString('utf8'))}`);
  });
}

/** Calls the service and returns the JSON object in its answer. */
export async function callForJson(caller: Caller, call: ServiceCall): Promise<JsonObject> {
  const json = parseJson(await callService(caller, call));
  if (json.ok && isObject(json.value)) return json.value;
  throw serviceFailure(call, 200, 'answered something that is not JSON');
}

function serviceFailure({ who }: ServiceCall, status: number, what: string): RequestFailure {
  return new RequestFailure({ message: `${who} ${what}`, status, reason: 'SERVICE', isTransient: isTransientStatus(status) });
}

/**
 * The service's own error code, if it is a single word: `InvalidIdentityToken`, `invalid_grant`.
 */
function errorWord(body: string): string {
  const match = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(body) ?? /"(?:error|code|Code)"\s*:\s*"([A-Za-z_]{1,60})"/.exec(body);
  return match === null ? '' : ` (${match[1] ?? ''})`;
}
