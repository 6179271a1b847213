import { GoTrueError } from '../errors.ts';
import { json, recordField, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';
import type { Factor } from '../types.ts';
import { authenticate } from './authenticate.ts';

/** `POST /factors`: an authenticator app, a phone or a security key, unverified. */
export async function enroll(project: Project, request: StandInRequest): Promise<Reply> {
  const { factors, switches, siteUrl } = project;
  const { user, session } = await authenticatePerson(project, request);
  const { body } = request;
  const type = textField(body, 'factor_type');
  const name = textField(body, 'friendly_name');
  const isAal2 = session.aal === 'aal2';
  switch (type) {
    case 'totp': {
      if (!switches.totpFactors) refuse('mfa_totp_enroll_not_enabled', 'MFA enroll is disabled for TOTP');
      factors.checkRoom(user, name, isAal2);
      // Its library for codes says "AccountName must be set".
      if (user.email === '') throw new GoTrueError(500, 'unexpected_failure', 'Error generating QR Code');
      const { id, secret } = factors.add(user, { name, verified: false });
      const issuer = textField(body, 'issuer') || new URL(siteUrl).host;
      const query = 'algorithm=SHA1&digits=6';
      const uri = `otpauth://totp/${encodeURIComponent(issuer)}:${user.email}?${query}&issuer=${encodeURIComponent(issuer)}&period=30&secret=${secret}`;
      // GoTrue's image has 283 KB.
      const qr_code = '<?xml version="1.0"?><svg width="147" height="147"></svg>';
      return json(200, { id, type, friendly_name: name, totp: { qr_code, secret, uri } });
    }
    case 'phone': {
      if (!switches.phoneFactors) refuse('mfa_phone_enroll_not_enabled', 'MFA enroll is disabled for Phone');
      const given = textField(body, 'phone');
      const phone = given.replace(/^\+/, '').replaceAll(' ', '');
      if (given === '') throw new GoTrueError(400, 'validation_failed', 'Phone number required to enroll Phone factor');
      if (!/^[1-9]\d{1,14}$/.test(phone)) {
        throw new GoTrueError(400, 'validation_failed', 'Invalid phone number format (E.164 required)');
      }
      const same = user.factors.filter((factor) => factor.phone === phone);
      if (same.some(({ isVerified }) => isVerified)) {
        const message = 'A verified phone factor already exists, unenroll the existing factor to continue';
        refuse('mfa_verified_factor_exists', message);
      }
      user.factors = user.factors.filter((factor) => !same.includes(factor));
      factors.checkRoom(user, name, isAal2);
      const { id } = factors.add(user, { type, name, phone, verified: false });
      return json(200, { id, type, friendly_name: name, phone: given });
    }
    case 'webauthn': {
      if (!switches.keyFactors) refuse('mfa_webauthn_enroll_not_enabled', 'MFA enroll is disabled for WebAuthn');
      factors.checkRoom(user, name, isAal2);
      const { id } = factors.add(user, { type, name, verified: false });
      return json(200, { id, type, friendly_name: name });
    }
    default:
      throw new GoTrueError(400, 'validation_failed', 'factor_type needs to be totp, phone, or webauthn');
  }
}

/** `POST /factors/:id/challenge`. */
export async function challenge(project: Project, request: StandInRequest): Promise<Reply> {
  const { factor, user } = await loadFactor(project, request);
  checkVerifyEnabled(project, factor);
  return json(200, project.factors.challenge(factor, user));
}

/** In `amr`. */
const methods: Readonly<Record<string, 'mfa/phone' | 'mfa/webauthn'>> = {
  phone: 'mfa/phone',
  webauthn: 'mfa/webauthn',
};

/** `POST /factors/:id/verify`: the session at aal2, and the end of the user's sessions at aal1. */
export async function verifyFactor(project: Project, request: StandInRequest): Promise<Reply> {
  const { user, session, factor } = await loadFactor(project, request);
  const { body } = request;
  const code = textField(body, 'code');
  const isKey = factor.type === 'webauthn';
  if (code === '' && !isKey) throw new GoTrueError(400, 'validation_failed', 'Code needs to be non-empty');
  checkVerifyEnabled(project, factor);
  if (project.switches.factorCodesRejected) {
    project.sessions.signOut(session.id, user.id, 'global');
    throw new GoTrueError(403, 'mfa_verification_rejected', 'Further MFA verification attempts will be rejected.');
  }
  const challengeId = textField(body, 'challenge_id');
  if (isKey) project.factors.answerKey(factor, user, challengeId, recordField(body, 'webauthn'));
  else project.factors.answer(factor, challengeId, code);
  const method = methods[factor.type] ?? 'totp';
  const raised = await project.sessions.raise(session.id, user, factor.id, method);
  user.factors = user.factors.filter(({ isVerified, type }) => isVerified || type !== factor.type);
  return json(200, raised);
}

/** `DELETE /factors/:id`. */
export async function unenroll(project: Project, request: StandInRequest): Promise<Reply> {
  const { user, session, factor } = await loadFactor(project, request);
  if (factor.isVerified && session.aal !== 'aal2') {
    throw new GoTrueError(422, 'insufficient_aal', 'AAL2 required to unenroll verified factor');
  }
  user.factors = user.factors.filter((each) => each !== factor);
  project.sessions.lower(factor.id);
  return json(200, { id: factor.id });
}

async function authenticatePerson(project: Project, request: StandInRequest) {
  const found = await authenticate(project, request);
  if (found.isAnonymous) {
    throw new GoTrueError(403, 'no_authorization', 'Anonymous user not allowed to perform these actions');
  }
  return found;
}

async function loadFactor(project: Project, request: StandInRequest) {
  const found = await authenticatePerson(project, request);
  const id = request.url.pathname.split('/')[4] ?? '';
  if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id)) {
    throw new GoTrueError(404, 'validation_failed', 'factor_id must be an UUID');
  }
  const factor = found.user.factors.find((each) => each.id === id);
  if (!factor) throw new GoTrueError(404, 'mfa_factor_not_found', 'Factor not found');
  return { ...found, factor };
}

function checkVerifyEnabled({ switches }: Project, { type }: Factor): void {
  if (type === 'totp' && !switches.totpFactors) {
    refuse('mfa_totp_verify_not_enabled', 'MFA verification is disabled for TOTP');
  }
  if (type === 'phone' && !switches.phoneFactors) {
    refuse('mfa_phone_verify_not_enabled', 'MFA verification is disabled for Phone');
  }
  if (type === 'webauthn' && !switches.keyFactors)
    refuse('mfa_webauthn_verify_not_enabled', 'MFA verification is disabled for WebAuthn');
}

function refuse(code: string, message: string): never {
  throw new GoTrueError(422, code, message);
}
