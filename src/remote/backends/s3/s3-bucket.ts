import { RequestFailure } from '../../transfer/failure.ts';
import { xmlBlocks, xmlText } from '../../http/xml.ts';
import type { BucketFacts, LifecycleRule } from '../bucket-settings.ts';
import type { S3Client } from './s3-client.ts';

/**
 * Reads the settings of an S3 bucket. A store that does not know the request has no such settings.
 */
export async function readS3Bucket(client: S3Client): Promise<BucketFacts> {
  const location = await ask(client, 'location');
  const lifecycle = await ask(client, 'lifecycle');
  return {
    // S3 reports its first region with an empty answer.
    region: location === null || location === 'unknown' ? null : (xmlText(location, 'LocationConstraint') ?? '') || 'us-east-1',
    deletes: lifecycle === null ? null : lifecycle === 'unknown' ? [] : xmlBlocks(lifecycle, 'Rule').flatMap(ruleOf),
  };
}

/** Reads one setting: null when access is denied, `unknown` when it is not set or not supported. */
async function ask(client: S3Client, what: 'location' | 'lifecycle'): Promise<string | null> {
  try {
    return (await client.call({ method: 'GET', key: null, query: [[what, '']] })).body.toString('utf8');
  } catch (thrown) {
    if (!(thrown instanceof RequestFailure)) throw thrown;
    if (thrown.status === 403) return null;
    if (thrown.status === 404 && thrown.reason === 'NoSuchBucket') throw thrown;
    if (thrown.status === 404 || thrown.status === 501 || thrown.status === 400) return 'unknown';
    throw thrown;
  }
}

function ruleOf(xml: string): readonly LifecycleRule[] {
  const [expiration] = xmlBlocks(xml, 'Expiration', 1);
  if (xmlText(xml, 'Status') !== 'Enabled' || expiration === undefined) return [];
  // A rule that only tidies up markers deletes no object.
  if (xmlText(expiration, 'Days') === null && xmlText(expiration, 'Date') === null) return [];
  const days = Number(xmlText(expiration, 'Days') ?? Number.NaN);
  return [{ id: xmlText(xml, 'ID'), prefix: xmlText(xml, 'Prefix') ?? '', afterDays: Number.isFinite(days) ? days : null }];
}
