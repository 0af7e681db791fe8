/** Whether a pass ended because an API server failed or forbade its requests; such a pass may succeed as soon as the server is well. */
export function failedByServer(outcome: { kind: string; reason?: string } | undefined): boolean {
  return outcome?.kind === 'retry' || (outcome?.kind === 'refused' && outcome.reason === 'Forbidden');
}
