/** A quantity of Kubernetes in whole binary units: 4Gi, 256Mi. */
export function formatBytes(bytes: number): string {
  const gibi = bytes / 1024 ** 3;
  return gibi >= 1 ? `${Math.floor(gibi)}Gi` : `${Math.max(1, Math.floor(bytes / 1024 ** 2))}Mi`;
}
