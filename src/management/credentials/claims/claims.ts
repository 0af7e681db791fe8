// Reads the claims of a direct token: issuer, clusters, the access key and its generation, and the rights of the holder. In: the
// decoded payload of a token with a good signature. Out: the claims, or undefined when one of them is wrong.

import { isRecord } from '../../../object/text/json.ts';
import type { SubjectKind } from '../../scope/directory.ts';

/** The type in the header, so that no other JWT of the same keys passes as a direct token. */
export const tokenType = 'dct+jwt';

/** Proxies commonly limit a header to 8 KiB, and the token shares its header with the word Bearer. */
export const maxTokenBytes = 6 * 1024;

/** In seconds. Shorter tokens would need constant renewal; longer tokens would outlive the reason for which they were made. */
export const shortestTokenTTL = 60;
export const longestTokenTTL = 86_400;
export const defaultTokenTTL = 3_600;

export type ProxiedRole = 'user' | 'admin';

/** The part of the claims that follows from the key, its owner and the configuration; a token dies when that part changes. */
export interface TokenRights {
  /** Clusters of which the owner is a member. */
  clusters: readonly string[];
  /** Roles in the projects that have spaces in the clusters of the audience. */
  projects: Readonly<Record<string, ProxiedRole>>;
  /** The spaces of these projects that the token is for, each as placeText() writes it. */
  spaces: readonly string[];
  groups: readonly string[];
  isAdministrator: boolean;
  /** The scopes as in the objects; each of them must allow a request. Empty = no limit beyond the rights of the owner. */
  scopes: readonly Record<string, unknown>[];
  /** Source networks from which the token counts, as the annotation of its key has them; undefined = from everywhere. */
  networks: string | undefined;
}

export interface TokenClaims extends TokenRights {
  issuer: string;
  /** The issuer and the clusters whose direct endpoints take the token. */
  audience: readonly string[];
  /** Seconds since the epoch. */
  issuedAt: number;
  notBefore: number;
  expires: number;
  id: string;
  /** Uid of the owner. */
  subjectUid: string;
  subjectKind: SubjectKind;
  subjectName: string;
  keyUid: string;
  keyName: string;
  generation: number;
}

/** The payload; short names, because the token travels with every request. */
export function payloadOf(claims: TokenClaims): Record<string, unknown> {
  return {
    iss: claims.issuer,
    aud: claims.audience,
    iat: claims.issuedAt,
    nbf: claims.notBefore,
    exp: claims.expires,
    jti: claims.id,
    sub: claims.subjectUid,
    kind: claims.subjectKind,
    name: claims.subjectName,
    akid: claims.keyUid,
    key: claims.keyName,
    gen: claims.generation,
    ...(claims.groups.length === 0 ? {} : { groups: claims.groups }),
    ...(claims.isAdministrator ? { admin: true } : {}),
    ...(claims.clusters.length === 0 ? {} : { clusters: claims.clusters }),
    ...(Object.keys(claims.projects).length === 0 ? {} : { projects: claims.projects }),
    ...(claims.spaces.length === 0 ? {} : { spaces: claims.spaces }),
    ...(claims.networks === undefined ? {} : { networks: claims.networks }),
    scopes: claims.scopes,
  };
}

const kinds: readonly SubjectKind[] = ['user', 'team', 'subject'];

/** A missing claim or a wrong type invalidates the whole token. Otherwise a missing limit would look like no limit. */
export function readClaims(payload: unknown): TokenClaims | undefined {
  if (!isRecord(payload)) return undefined;
  const { iss, jti, sub, name, akid, key, iat, nbf, exp, gen, networks } = payload;
  const subjectKind = kinds.find((kind) => kind === payload['kind']);
  const audience = typeof payload['aud'] === 'string' ? [payload['aud']] : textsIn(payload['aud']);
  const groups = textsIn(payload['groups'] ?? []);
  const clusters = textsIn(payload['clusters'] ?? []);
  const projects = projectsIn(payload['projects'] ?? {});
  // A token of a server that did not write them yet reaches no space: an endpoint alone cannot know which the platform still has.
  const spaces = textsIn(payload['spaces'] ?? []);
  const scopes = payload['scopes'];
  if (subjectKind === undefined || audience === undefined || groups === undefined) return undefined;
  if (clusters === undefined || projects === undefined || spaces === undefined) return undefined;
  if (networks !== undefined && typeof networks !== 'string') return undefined;
  if (!Array.isArray(scopes) || !scopes.every(isRecord)) return undefined;
  if (!isText(iss) || !isText(jti) || !isText(sub) || !isText(name) || !isText(akid) || !isText(key)) return undefined;
  if (!isCount(iat) || !isCount(nbf) || !isCount(exp) || !isCount(gen)) return undefined;
  return {
    issuer: iss,
    audience,
    issuedAt: iat,
    notBefore: nbf,
    expires: exp,
    id: jti,
    subjectUid: sub,
    subjectKind,
    subjectName: name,
    keyUid: akid,
    keyName: key,
    generation: gen,
    groups,
    isAdministrator: payload['admin'] === true,
    clusters,
    projects,
    spaces,
    scopes,
    networks,
  };
}

/** None of the four names has a slash. */
export function placeText(place: { cluster: string; project: string; space: string; namespace: string }): string {
  const { cluster, project, space, namespace } = place;
  return [cluster, project, space, namespace].join('/');
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function textsIn(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined;
}

function projectsIn(value: unknown): Record<string, ProxiedRole> | undefined {
  if (!isRecord(value)) return undefined;
  const isRoles = Object.values(value).every((role) => role === 'user' || role === 'admin');
  return isRoles ? (value as Record<string, ProxiedRole>) : undefined;
}
