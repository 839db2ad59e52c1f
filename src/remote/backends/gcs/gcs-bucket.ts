import { isArray, isObject, type Json } from '../../../core/json.ts';
import { RequestFailure } from '../../transfer/failure.ts';
import type { BucketFacts, LifecycleRule } from '../bucket-settings.ts';
import { type GcsClient, jsonOf } from './gcs-client.ts';

/**
 * Reads the settings of a Google Cloud Storage bucket; unknown where the credentials may not read
 * them.
 */
export async function readGcsBucket(client: GcsClient, bucket: string): Promise<BucketFacts> {
  try {
    const { body } = await client.call({ method: 'GET', path: `/storage/v1/b/${encodeURIComponent(bucket)}` });
    const facts = jsonOf(body);
    const location = facts?.['location'];
    const lifecycle = facts?.['lifecycle'];
    const rules = isObject(lifecycle) ? lifecycle['rule'] : undefined;
    return {
      region: typeof location === 'string' && location !== '' ? location.toLowerCase() : null,
      deletes: isArray(rules) ? rules.flatMap(rulesOf) : [],
    };
  } catch (thrown) {
    if (thrown instanceof RequestFailure && thrown.status === 403) return { region: null, deletes: null };
    throw thrown;
  }
}

function rulesOf(rule: Json | undefined): readonly LifecycleRule[] {
  if (!isObject(rule) || !isObject(rule['action']) || rule['action']['type'] !== 'Delete') return [];
  const condition = isObject(rule['condition']) ? rule['condition'] : {};
  // A replaced version is no longer the checkpoint.
  if (condition['isLive'] === false || condition['numNewerVersions'] !== undefined) return [];
  const age = condition['age'];
  const prefixes = condition['matchesPrefix'];
  const texts = isArray(prefixes) ? prefixes.filter((prefix) => typeof prefix === 'string') : [];
  return (texts.length === 0 ? [''] : texts).map((prefix) => ({ id: null, prefix, afterDays: typeof age === 'number' ? age : null }));
}
