// Cells of the authorisation matrix that travel as requests: with names of their own, since all keys lie in one server, and the answers of a server read as
// the model gives them.
import type { ManagementSettings } from '../../../src/config/settings/management-settings.ts';
import type { MatrixCase, MatrixConfiguration } from '../matrix-case.ts';
import type { Cell } from '../model/cases/matrix-cases.ts';
import { directoryOf } from '../scope/scopes.ts';
import { type WireRequest, wireRequestOf } from './request-url.ts';
import type { WireAnswer } from './tls-client.ts';

export interface WireCell {
  title: string;
  of: MatrixCase;
  wire: WireRequest;
}

/** All keys lie in one server, so the names of each cell are its own. Without clusters behind it a server can be asked of itself alone. */
export function renamed(
  { title, of, seed: number }: Cell,
  { isProxied = false }: { isProxied?: boolean } = {},
): WireCell | undefined {
  if (isProxied === (of.request.target.kind === 'Management')) return undefined;
  const own = new Map(
    [...of.keys.map(({ name }) => name), 'k-maker', 'k-makers-maker', 'k-absent', 'k-other'].map((name) => [
      name,
      `${name}-${number}`,
    ]),
  );
  const { configuration, ...rest } = of;
  const text = JSON.stringify(rest, (_, value: unknown) =>
    typeof value === 'string' ? (own.get(value) ?? value) : value,
  );
  const cell = { ...(JSON.parse(text) as Omit<MatrixCase, 'configuration'>), configuration };
  const wire = wireRequestOf(cell.request);
  return wire === undefined ? undefined : { title: `${title}, seed ${number}`, of: cell, wire };
}

export function settingsOf(configuration: MatrixConfiguration): ManagementSettings {
  return directoryOf(JSON.stringify({ hostward: { management: configuration } })).settings;
}

/** A refusal because of the body names a field; one of the authorisation does not. */
export function outcomeOf({ code, body }: Pick<WireAnswer, 'code' | 'body'>): 'allowed' | 'refused' | number {
  if (code === 401) return 'refused';
  if (code === 403) return (body['details']?.['causes'] ?? undefined) === undefined ? 'refused' : 'allowed';
  return code >= 500 ? code : 'allowed';
}
