// The schema of OwnedAccessKey and of its rotation.
import type { Schemas } from '../../../apiserver/kinds/kind.ts';
import type { Schema } from '../../../apiserver/kinds/schema.ts';
import { metaRef, objectSchema, textField, textsField } from './meta-schemas.ts';
import { scopeSchema } from './scope-schema.ts';

export const keySchemaName = 'management.platform.v1.OwnedAccessKey';
export const rotationSchemaName = 'management.platform.v1.OwnedAccessKeyRotation';

const types = ['User', 'Other', 'Login', 'Reset', 'OIDCRefreshToken', 'NetworkPeer', 'Workspace'];

function hidden(description: string): Schema {
  return { ...textField(`${description} Never returned.`), writeOnly: true };
}

const identity: Schema = {
  type: 'object',
  description: 'Data of a single sign-on. Written by administrators only; grants nothing.',
  'x-pointers': ['emailVerified'],
  properties: {
    userId: textField('Subject of the user.'),
    username: textField('Name of the user.'),
    preferredUsername: textField('Name to show.'),
    email: textField('E-mail address.'),
    emailVerified: { type: 'boolean', description: 'Whether the e-mail address was verified.' },
    extraClaims: {
      type: 'object',
      description: 'More claims of the identity provider.',
      'x-kubernetes-preserve-unknown-fields': true,
    },
    groups: textsField('Groups of the identity provider.'),
    connector: textField('Name of the connector that the key was made from.'),
    connectorData: hidden('Data for later requests of the connector.'),
    identityRefresh: metaRef('Time', 'When the identity was last refreshed.'),
  },
};

const spec: Schema = {
  type: 'object',
  description: 'The purpose, the owner and the rights of the key.',
  // An empty scope allows next to nothing and an absent one everything: it must not be lost.
  'x-pointers': ['scope', 'identity', 'oidcProvider', 'oidcLogin'],
  properties: {
    displayName: { ...textField('Name to show.'), maxLength: 256 },
    description: { ...textField('Purpose of the key.'), maxLength: 4096 },
    user: textField('The user that the key stands for. By default the caller. Cannot be updated.'),
    team: textField('The team that the key stands for. Cannot be updated.'),
    subject: textField('A subject that is neither user nor team. Given by administrators. Cannot be updated.'),
    groups: textsField('Groups that count besides those of the subject when the key is used.'),
    key: {
      ...textField('The value of the key, used as a bearer token. Shown once, in the answer to the creation.'),
      writeOnly: true,
    },
    disabled: { type: 'boolean', description: 'The key exists, and grants no access.' },
    ttl: {
      type: 'integer',
      format: 'int64',
      description: 'Lifetime in seconds. 0 or absent = no end.',
      minimum: 0,
      maximum: 3_153_600_000,
    },
    ttlAfterLastActivity: {
      type: 'boolean',
      description: 'The lifetime counts from status.lastActivity instead of the creation.',
    },
    scope: scopeSchema,
    type: {
      ...textField('Manager of the key. Everybody may use User and Other; the other types are for administrators.'),
      enum: types,
    },
    identity,
    oidcProvider: {
      type: 'object',
      description: 'For refresh tokens. Written by administrators only.',
      properties: {
        clientId: textField('Client that the token was made for.'),
        nonce: textField('Nonce of the login.'),
        redirectUri: textField('Address that the login led back to.'),
        scopes: textField('Scopes of the token.'),
      },
    },
    parent: textField('Deprecated: use identity instead.'),
    oidcLogin: {
      type: 'object',
      description: 'Deprecated: use identity instead.',
      properties: {
        idToken: hidden('Current id token.'),
        accessToken: hidden('Current access token.'),
        refreshToken: hidden('Current refresh token.'),
        lastRefresh: metaRef('Time', 'When the id token was last refreshed.'),
      },
    },
  },
};

export const keySchemas: Schemas = {
  [keySchemaName]: objectSchema(
    'An access key: its value authenticates calls of the API, as the user, team or subject that it stands for.',
    {
      spec,
      status: {
        type: 'object',
        description: 'The state of the key, from the server. Read-only.',
        properties: {
          phase: textField(
            'Active; Disabled, Expired or Terminating by itself; Suspended, UserDisabled, InstanceGone or MakerInvalid by others.',
          ),
          expiresAt: metaRef('Time', 'When the key ends. Absent = it does not end.'),
          lastActivity: metaRef('Time', 'When the key was last used.'),
          conditions: {
            type: 'array',
            description: 'Ready: the key is accepted. Expired, on keys that end: it has ended.',
            items: {
              type: 'object',
              properties: {
                type: textField('Ready or Expired.'),
                status: textField('True or False.'),
                reason: textField('The phase.'),
              },
            },
          },
        },
      },
    },
  ),
  [rotationSchemaName]: objectSchema('A new value for an access key.', {
    spec: {
      type: 'object',
      description: 'How the value is replaced.',
      properties: {
        overlapSeconds: {
          type: 'integer',
          format: 'int64',
          description: 'For so long the old value is good as well. By default it is not.',
          minimum: 0,
          maximum: 604_800,
        },
      },
    },
    status: {
      type: 'object',
      description: 'The new value.',
      properties: {
        key: textField('The new value of the key. Shown in this answer alone.'),
        oldKeyValidUntil: metaRef('Time', 'Until when the old value is good.'),
      },
    },
  }),
};
