/** The labels of a sample. */
export type Labels = Readonly<Record<string, string>>;

/** The two lines before the samples of a metric, in the text format of Prometheus. */
export function metricHead(name: string, type: 'gauge' | 'counter', help: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

/** The line of one sample. */
export function metricSample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
}

/** Escapes the three characters that the format requires. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
