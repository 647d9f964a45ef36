# A person's mail arrives: PORT PASSWORD MAIL
import imaplib
import sys
import time

port, password, mail = sys.argv[1:4]
server = imaplib.IMAP4("127.0.0.1", int(port))
server.login("me", password)
mail = mail.replace("\n", "\r\n").encode()
print(server.append("INBOX", "", imaplib.Time2Internaldate(time.time()), mail))
