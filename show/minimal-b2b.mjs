// A complete app with sign-in through WorkOS. README.md in this folder describes how to run it.
import express from 'express';
import { b2bAuth, currentSession } from 'express-auth-adapters/b2b';

const app = express();
app.use(b2bAuth({ protectedRoutes: '/dashboard(.*)' }));
app.get('/dashboard', (req, res) => {
  res.json(currentSession(req, 'b2b').user);
});
app.listen(process.env.PORT ?? 3000);
