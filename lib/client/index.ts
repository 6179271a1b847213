export * from './b2b-client.ts';
export * from './backend-client.ts';
export * from '../backend/webauthn/client.ts';
export type {
  CallOptions,
  ClientError,
  ClientErrorCode,
  ClientOptions,
  ClientResult,
  PostCall,
  ReturnTo,
} from './send.ts';
export type {
  B2bSessionBody,
  B2bPublicUser,
  B2bUser,
  BackendSessionBody,
  BackendUser,
  ConnectedApp,
  ConnectedAppsBody,
  ConsentBody,
  EmailConfirmationBody,
  MailSentBody,
  OAuthClientInfo,
  RedirectBody,
} from '../types.ts';
