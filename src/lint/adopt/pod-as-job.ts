import type { Document } from 'yaml';

/** Turns a bare Pod into a Job that makes it again. */
export function podAsJob(document: Document, notes: string[]): void {
  if (document.get('kind') !== 'Pod') return;
  const spec = document.get('spec', true);
  const labels = document.getIn(['metadata', 'labels'], true);
  document.set('apiVersion', 'batch/v1');
  document.set('kind', 'Job');
  const template = document.createNode({});
  document.set('spec', document.createNode({}));
  if (labels !== undefined) document.setIn(['spec', 'template', 'metadata', 'labels'], labels);
  else document.setIn(['spec', 'template'], template);
  document.setIn(['spec', 'template', 'spec'], spec);
  document.setIn(['spec', 'template', 'spec', 'restartPolicy'], 'Never');
  const name = document.getIn(['metadata', 'name']);
  notes.push(`Pod ${typeof name === 'string' ? `${name} ` : ''}is a Job now: nothing starts a bare Pod again.`);
}
