import type { IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import type { WatchEvent } from '../api/kube-api.ts';
import type { Failure } from '../api/outcome.ts';
import type { Resource } from '../api/resource.ts';
import { at, numberAt, textAt } from '../objects/fields.ts';
import { decodeObject, jsonOf } from './decode.ts';
import { failureOf, noAnswer } from './request-failure.ts';

/** The longest event: an object has at most a few megabytes. */
const LONGEST_LINE = 16 * 1024 * 1024;
const TYPES: Readonly<Record<string, 'added' | 'modified' | 'deleted'>> = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' };

/** Where the events of a watch go. */
export interface WatchListener {
  readonly resource: Resource;
  /** For messages: the request. */
  readonly request: string;
  readonly hear: (event: WatchEvent) => void;
}

/**
 * Reads the events of a watch, one line of JSON each, to its end. Null: the API server ended it.
 */
export async function readWatch(response: IncomingMessage, listener: WatchListener): Promise<Failure | null> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const failure = line === '' ? null : readEvent(line, listener);
      if (failure !== null) return failure;
    }
    if (rest.length > LONGEST_LINE) return noAnswer(listener.request, new Error(`an event is longer than ${LONGEST_LINE} characters`));
  }
  return null;
}

function readEvent(line: string, { resource, request, hear }: WatchListener): Failure | null {
  const event = jsonOf(line);
  const value = at(event, 'object');
  const name = textAt(event, 'type') ?? '';
  if (name === 'ERROR') return failureOf(request, numberAt(value, 'code') ?? 500, value);
  if (name === 'BOOKMARK') {
    const resourceVersion = textAt(value, 'metadata', 'resourceVersion');
    if (resourceVersion !== null) hear({ type: 'bookmark', resourceVersion });
    return null;
  }
  const type = TYPES[name];
  const object = decodeObject(resource, value);
  if (type === undefined || object === null) return noAnswer(request, new Error('an event was not understood'));
  hear({ type, object });
  return null;
}
